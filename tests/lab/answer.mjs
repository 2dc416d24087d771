// The Lab's mathematics for a Python test: a question a line as JSON, an answer a line.

import { createInterface } from "node:readline";
import { chiSquare } from "../../assets/lab/chi_square.js";
import { distances, lawOf } from "../../assets/lab/law.js";
import { keyOf, words } from "../../assets/lab/philox.js";
import { textOf } from "../../assets/lab/play.js";
import { RULE_IDS, ruleOf } from "../../assets/lab/table.js";
import { addTexts, emptyTally, tested } from "../../assets/lab/tally.js";

const ANSWERS = {
  ids: () => RULE_IDS,
  words: ({ seed, at, n }) => words(keyOf(seed), at, n),
  law({ rule, params, p, q, k }) {
    const made = ruleOf(rule, params);
    const law = lawOf(made, p, q, k);
    return {
      ...law,
      tv: distances(law, p),
      acceptance: made.acceptance(p, q),
      accepted: made.accepted(p, q, k),
    };
  },
  text({ rule, params, p, q, k, seed, rounds }) {
    const text = textOf(ruleOf(rule, params), p, q, k, seed);
    return Array.from({ length: rounds }, () => {
      text.coins.fallen.clear();
      const { start, drafts, verdict, emitted } = text.round();
      return { start, drafts, verdict, emitted, coins: [...text.coins.fallen.values()] };
    });
  },
  chi: ({ counts, law, n }) => chiSquare(counts, law, n),
  sample({ rule, params, p, q, k, seed, n }) {
    const tally = emptyTally(p.length);
    addTexts(tally, ruleOf(rule, params), { p, q, k, seed }, n);
    return { ...tally, tests: tested(tally, p) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { ask, ...question } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(ANSWERS[ask](question))}\n`);
}
