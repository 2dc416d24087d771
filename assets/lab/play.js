// Texts under a seed: the loop of engine/core/loop.py on a small table, draft, judge, emit. Text j of a seed s is the
// session of seed s + j.

import { seededCoins } from "./coins.js";

// A text under way; `held` puts coins elsewhere. round() plays the next round and returns it.
export function textOf(rule, p, q, k, seed, held) {
  const coins = seededCoins(seed, held);
  const attempts = new Map();
  const tokens = [];
  const tries = (position) => attempts.get(position) ?? 0;
  return {
    coins,
    tokens,
    round() {
      const start = tokens.length;
      const at = (purpose, i) => ({ purpose, position: start + i, attempt: tries(start + i) });
      const drafts = Array.from({ length: k }, (_, i) => rule.draft(q, coins, at("draft", i)));
      const block = { k, token: (i) => drafts[i], p: () => p, q: () => q, at };
      const verdict = rule.judge(block, coins);
      const emitted = [...drafts.slice(0, verdict.n), verdict.next];
      tokens.push(...emitted);
      const places = drafts.map((_, i) => ({ draft: at("draft", i), accept: at("accept", i) }));
      const after = { target: at("target", verdict.n), residual: at("residual", verdict.n) };
      if (rule.looksAhead) drafts.forEach((_, i) => attempts.set(start + i, tries(start + i) + 1));
      return { start, drafts, verdict, emitted, places, after };
    },
  };
}

// The first n tokens of a text, and perhaps more.
export function firstTokens(rule, p, q, k, seed, n) {
  const text = textOf(rule, p, q, k, seed);
  while (text.tokens.length < n) text.round();
  return text.tokens;
}
