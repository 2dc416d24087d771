// A round as steps to be shown one after the other: each with its line, its dart and what may be guessed of it. Pure.

import { decimal, percent } from "../parts/format.js";
import { nameOf, seededCoins } from "./coins.js";
import { textOf } from "./play.js";
import { slices } from "./rows.js";

const STANDS = [
  ["kept", true],
  ["rejected", false],
];

// The first round of the text on view, with coins held elsewhere: [{ key, kind, at, fell, slices | threshold, answer,
// fate, title, question, choices(names), says(names) }], and `round` beside them.
export function stepsOf(lab, held) {
  const { p, q, k, seed, text } = lab.get();
  const rule = lab.rule();
  const played = textOf(rule, p, q, k, seed + text, held);
  const round = played.round();
  const fallen = (at) => (at && played.coins.fallen.get(nameOf(at))) ?? null;
  const fell = seededCoins(seed + text).u; // by the seed, wherever a dart was dragged
  const context = { rule, p, q, k, round, fallen, fell };
  const steps = [
    ...round.drafts.map((_, i) => draftStep(context, i)),
    ...round.verdict.checks.map((_, i) => testStep(context, i)),
    nextStep(context),
  ];
  return Object.assign(steps, { round });
}

function draftStep({ rule, q, round, fallen, fell }, i) {
  const from = rule.drawn ? rule.drawn(q) : q;
  const token = round.drafts[i];
  const coin = fallen(round.places[i].draft);
  const forced = coin === null;
  return {
    key: `draft ${i}`,
    kind: "draft",
    title: `Draft ${i + 1}: the drafter draws from q`,
    at: forced ? null : round.places[i].draft,
    fell: forced ? null : fell(round.places[i].draft),
    slices: slices(from),
    answer: token,
    fate: "draft",
    question: "Which token will it draft?",
    choices: (names) => (forced ? [] : tokenChoices(from, names)),
    says: (names) => `${forced ? forcedWords(rule) : "The dart hits"} ${names[token]}.`,
  };
}

const forcedWords = (rule) =>
  rule.id === "gumbel" ? "The noise picks the token that arrives first:" : "No coin is needed; it drafts";

const tokenChoices = (row, names) => slices(row).map(({ token }) => [names[token], token]);

function testStep({ rule, p, q, round, fallen, fell }, i) {
  const check = round.verdict.checks[i];
  const x = round.drafts[i];
  const at = check.u === null ? null : coinAt(rule, round, i);
  const words = testWords(rule, check, p[x], q[x]);
  return {
    key: `test ${i}`,
    kind: "test",
    title: `Test ${i + 1}`,
    at,
    fell: at && fallen(at) ? fell(at) : null,
    threshold: check.threshold,
    answer: check.accepted,
    fate: check.accepted ? "accepted" : "rejected",
    question: "Will it be kept?",
    choices: () => STANDS,
    says: (names) => `${names[x]}: ${words}`,
  };
}

const coinAt = (rule, round, i) => round.places[rule.id === "fault-shared-coin" ? 0 : i].accept;

function testWords(rule, { threshold, u, accepted }, p, q) {
  const rows = `p = ${percent(p)}, q = ${percent(q)}.`;
  if (u === null) return `${rows} ${withoutCoin(rule, accepted)}`;
  const stands = accepted && u >= threshold ? "forgiven" : accepted ? "kept" : "rejected";
  const side = u < threshold ? "below" : "not below";
  return `${rows} u = ${decimal(u)} is ${side} the threshold ${decimal(threshold)}: ${stands}.`;
}

function withoutCoin(rule, accepted) {
  const same = { "sampler-match": 1, gumbel: 1, argmax: 1, "fault-string-match": 1 }[rule.id];
  const why = same
    ? accepted
      ? "The target picked the same token"
      : "The target picked another token"
    : accepted
      ? "This rule keeps it without a coin"
      : "This rule drops it without a coin";
  return `${why}: ${accepted ? "kept" : "rejected"}.`;
}

function nextStep({ rule, p, round, fallen, fell }) {
  const { verdict, after } = round;
  const bonus = verdict.source === "bonus";
  const at = [after.residual, after.target].find((one) => fallen(one)) ?? null;
  const coin = at && usesCoin(rule) ? fallen(at) : null;
  const from = verdict.residual ?? p;
  return {
    key: bonus ? "bonus" : "refill",
    kind: "next",
    title: bonus ? "Bonus: every draft stood" : `Refill at position ${verdict.n + 1}`,
    at: coin ? at : null,
    fell: coin ? fell(at) : null,
    slices: slices(from),
    answer: verdict.next,
    fate: verdict.source,
    question: "Which token will follow?",
    choices: (names) => (coin ? tokenChoices(from, names) : []),
    says: (names) => `${nextWords(rule, verdict, bonus, coin)} ${names[verdict.next]}.`,
  };
}

const ARGMAX = new Set(["argmax", "greedy-argmax", "relaxed"]);
const usesCoin = (rule) => !ARGMAX.has(rule.id) && rule.id !== "gumbel";

function nextWords(rule, verdict, bonus, coin) {
  if (ARGMAX.has(rule.id)) return "This rule takes the target's most probable token:";
  if (rule.id === "gumbel") return "It is the token that the noise picks from p:";
  if (!coin) return "Only one token is left to draw:";
  if (bonus) return "One token more, for free, drawn from p:";
  if (!verdict.residual) return "The target's own draw takes its place:";
  if (verdict.degenerate) return "p and q are equal, so the residual is empty; drawn from p:";
  return `Drawn from what is left over (mass ${decimal(verdict.mass)}):`;
}
