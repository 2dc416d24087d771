// The rule matrix: what every rule would have done with a round's own drafts and coins. Pure.
// A round's line is [rule, accepted, next token or null, summed TV or null] and, where they are not at their
// defaults, the rule's parameters (inspector/view_model.py).

// rule id -> what it did over all rounds so far. Never changed in place.
export function countMatrix(totals, round) {
  if (!round.matrix?.length) return totals;
  const next = { ...totals };
  for (const [rule, accepted, token, tv] of round.matrix) {
    const old = totals?.[rule] ?? { rounds: 0, accepted: 0, tested: 0, emitted: 0, tv: 0, measured: 0 };
    next[rule] = {
      rounds: old.rounds + 1,
      accepted: old.accepted + accepted,
      tested: old.tested + Math.min(accepted + 1, round.k),
      emitted: old.emitted + accepted + (token === null ? 0 : 1),
      tv: tv === null ? old.tv : old.tv + tv,
      measured: tv === null ? old.measured : old.measured + round.tested,
    };
  }
  return next;
}

// A rule that is lossless for one-hot rows alone is biased where the session samples.
export const kindOf = (rule, greedy = true) =>
  rule.faulty ? "faulty" : rule.lossless && (greedy || !rule.greedy_only) ? "lossless" : "biased";

export const isGreedy = (head) => head?.sampling?.temperature === 0 || head?.sampling?.top_k === 1;

export const KINDS = ["lossless", "biased", "faulty"];

// The fate of each draft under a rule that accepted n of k.
export const fatesUnder = (n, k) =>
  Array.from({ length: k }, (_, i) => (i < n ? "accepted" : i === n ? "rejected" : "untested"));

const outcome = ([, accepted, token]) => `${accepted} ${token}`;

// The rules whose drafts are these and who leave the round with another outcome than the session's own rule.
export function dissenters(round, rules, own) {
  const mine = (round.matrix ?? []).find((line) => line[0] === own);
  if (!mine) return [];
  const judges = new Set(
    rules.filter((rule) => !rule.drafts_otherwise && !rule.greedy_only).map((rule) => rule.id),
  );
  return round.matrix
    .filter((line) => judges.has(line[0]) && outcome(line) !== outcome(mine))
    .map((line) => line[0]);
}

// Rules with their lines, grouped by kind: [{ kind, rows: [{ rule, line, total }] }]. Only rules of this round.
export function grouped(round, rules, totals, greedy = true) {
  const lines = new Map((round.matrix ?? []).map((line) => [line[0], line]));
  const rows = rules
    .filter((rule) => lines.has(rule.id))
    .map((rule) => ({ rule, line: lines.get(rule.id), total: totals?.[rule.id] ?? null }));
  return KINDS.map((kind) => ({
    kind,
    rows: rows.filter((row) => kindOf(row.rule, greedy) === kind),
  })).filter((group) => group.rows.length > 0);
}

// The rules with the session's own among them, also where that came from a file.
export function withOwn(rules, head) {
  if (!head || rules.some((rule) => rule.id === head.rule)) return rules;
  const { rule: id, rule_title: title = id, lossless = false, faulty = false } = head;
  return [
    ...rules,
    { id, title, lossless, faulty, meaning: "A rule of somebody's own, from a file.", formula: "" },
  ];
}

// Whether a line was judged with the parameters that the session runs under. Rounds of older sessions hold
// every rule at its defaults.
export function asItRan(line, rule, head) {
  const defaults = Object.fromEntries(
    (rule.parameters ?? []).map(({ name, default: value }) => [name, value]),
  );
  const judged = { ...defaults, ...line[4] };
  return Object.entries(head?.params ?? {}).every(([name, value]) => (judged[name] ?? value) === value);
}

export const meanTv = (total) => (total?.measured ? total.tv / total.measured : null);
