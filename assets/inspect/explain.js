// Why a token has its fate, as sentences with this token's own numbers. A sentence is a list of strings and
// { token } (an id to be shown as text). Pure: everything comes from the round view.

import { decimal, percent } from "../parts/format.js";

const TAKES_ARGMAX = new Set(["argmax", "greedy-argmax", "relaxed"]);
// As close as seven digits tell, which is what a recording keeps.
const close = (a, b) => Math.abs(a - b) <= 2e-6 * Math.max(a, b);

// Thresholds that are no plain ratio, in the letters of the rule tables.
const THRESHOLDS = {
  block: "h",
  lenient: "p/(l q)",
  ensemble: "1 − w + w p/q",
  synthetic: "c",
  threshold: "p/t",
};

// What each rule draws from after a rejection; a rule not named here is described as "its residual".
const COVERED = "the residual (p − q)⁺, the part of p that the draft does not cover";
const RESIDUALS = {
  stochastic: COVERED,
  ensemble: COVERED,
  cascade: COVERED,
  fly: COVERED,
  block: "the residual (r p − q)⁺ at the place where the block was cut",
  lenient: "the residual (p/l − q)⁺",
  "one-hot": "p without the rejected token",
  threshold: "p without the rejected token",
  "fault-one-token-residual": "p less q at the rejected token alone, where (p − q)⁺ would be right",
  "fault-shared-coin": COVERED,
  "fault-softmax-q": COVERED,
  "fault-raw-q": COVERED,
};

// What a test without a coin compares: [why it stands, why it falls].
const COMPARED = {
  typical: [
    "The target finds it likely enough for how unsure it is, so it stands.",
    "The target finds it too unlikely for how sure it is, so it falls.",
  ],
  relaxed: [
    "It is among the target's top tokens and close to the best, so it stands.",
    "It is not close enough to the target's best token, so it falls.",
  ],
  cascade: [
    "The drafter is as sure here as the target, less some slack, so its draft stands unverified.",
    "",
  ],
  threshold: ["p(x) clears the bar above which this rule keeps a draft for sure.", ""],
  "fault-string-match": ["It equals the target's own draw, so it stands.", ""],
};

// What the threshold of a coin is, in the letters of the rule tables.
export function thresholdName(position, rule) {
  const { p, q, accept_prob: threshold } = position;
  if (THRESHOLDS[rule]) return THRESHOLDS[rule];
  if (p === null || q === null) return "accepts with";
  if (q > 0 && close(threshold, Math.min(1, p / q))) return p < q ? "p/q" : "min(1, p/q)";
  return close(threshold, p) ? "p(x)" : "accepts with";
}

// The threshold with its numbers filled in, e.g. "p/q = 0.0813 / 0.361 = 0.225"; "" where no coin decides.
export function formula(position, rule) {
  if (position.accept_prob === null || position.u === null) return "";
  const name = thresholdName(position, rule);
  const result = decimal(position.accept_prob);
  if (name === "p/q") return `p/q = ${decimal(position.p)} / ${decimal(position.q)} = ${result}`;
  if (name === "min(1, p/q)")
    return `min(1, p/q) = min(1, ${decimal(position.p)} / ${decimal(position.q)}) = ${result}`;
  if (name === "h") return `h = ${result}, the chance that a prefix of this length stands`;
  return name === "accepts with" ? `acceptance probability ${result}` : `${name} = ${result}`;
}

export function headline(round, pos) {
  const position = round.positions[pos];
  if (position) {
    const verb = { accepted: "was kept", rejected: "was rejected", untested: "was not tested" }[
      position.fate
    ];
    return ["Why ", { token: position.x }, ` ${verb}`];
  }
  return ["Where ", { token: round.next.token }, " came from"];
}

export function explainDraft(round, pos, rule) {
  const position = round.positions[pos];
  const out = [...opening(position), ...decide(round, pos, rule)];
  if (position.rescued) {
    out.push(
      " The target's own draw here was ",
      { token: position.own.token },
      ": plain sampling would have written that, yet the draft stood.",
    );
  }
  return out;
}

function opening({ x, p, q }) {
  return ["The target gives ", { token: x }, ` ${percent(p)}, the draft gave it ${percent(q)}.`];
}

function decide(round, pos, rule) {
  const position = round.positions[pos];
  const { fate, u, accept_prob: threshold } = position;
  if (threshold === null) return [" It stands behind the rejected draft, so it was never tested."];
  if (u === null) return withoutCoin(round, position, rule);
  if (rule === "block") return prefixTest(position);
  if (position.p === 0) return [" The target never says this here, so no coin can save it: rejected."];
  if (threshold >= 1) return certain(position);
  const missed = rule === "fly" && u >= threshold;
  const chance = thresholdName(position, rule) === "p/q" ? "So it is kept" : "Under this rule it is kept";
  const fell = ` ${chance} with probability ${decimal(threshold)}. The coin fell at u = ${decimal(u)}`;
  if (fate === "accepted" && missed) {
    return [
      `${fell}, not below that: a miss, forgiven because the target was unsure here and the next drafts all pass.`,
    ];
  }
  return [fate === "accepted" ? `${fell}, below that: kept.` : `${fell}, not below that: rejected.`];
}

function certain({ p, q }) {
  if (p >= q)
    return [" The target wants it at least as much as the draft did, so it is kept wherever the coin falls."];
  return [" This rule keeps it wherever the coin falls."];
}

function prefixTest({ fate, passed, u, accept_prob: threshold }) {
  const test = ` Block verification weighs whole prefixes: the one that ends here stands with probability h = ${decimal(threshold)}, and the coin fell at u = ${decimal(u)}`;
  if (passed) return [`${test}, below it: this prefix stands.`];
  if (fate === "accepted")
    return [`${test}, not below it. A longer prefix stood, and carries this draft with it.`];
  return [
    `${test}, not below it, and no longer prefix stood: ${fate === "rejected" ? "rejected." : "dropped with the rest."}`,
  ];
}

function withoutCoin(round, position, rule) {
  const kept = position.fate === "accepted";
  const own = { token: position.own.token };
  if (rule === "sampler-match") {
    if (kept) return [" The target drew its own token here and it was the same one, so the draft stands."];
    return [" The target drew its own token here, ", own, ": another one, so it takes the draft's place."];
  }
  if (rule === "gumbel") {
    if (kept) return [" Draft and target picked with the same noise, and both picked it, so it stands."];
    return [" With the same noise the target picked ", own, ", so that takes the draft's place."];
  }
  if (rule === "argmax" || rule === "greedy-argmax") return byArgmax(round, kept);
  if (!kept && position.q === 0) return [" The draft row gives it no mass, so it cannot stand."];
  const said = COMPARED[rule]?.[kept ? 0 : 1];
  if (said) return [` ${said}`];
  if (!kept && position.p === 0) return [" The target never says this here, so it cannot stand."];
  return [` The rule tosses no coin here: it ${kept ? "keeps" : "drops"} the draft.`];
}

function byArgmax(round, kept) {
  if (kept) return [" It is the target's most probable token, so it stands."];
  return [" The most probable token of the target is ", { token: round.next.token }, ", so the draft falls."];
}

// Where the token after the accepted drafts came from, in two or three words.
export function origin(round, rule) {
  const { next } = round;
  if (TAKES_ARGMAX.has(rule)) return "argmax of p";
  if (rule === "gumbel") return "picked with the noise";
  if (!next.residual) return "drawn from p";
  if (next.residual.degenerate) return "from p (no residual)";
  return rule === "fault-residual-from-p" ? "from p (the fault)" : "from the residual";
}

// Whether a coin chose the token that follows: an argmax needs none, even where one fell at its address.
export const drawnByCoin = (next, rule) => next.draw.u !== null && !TAKES_ARGMAX.has(rule);

export function explainNext(round, rule) {
  const { next } = round;
  return [...cause(round), ...source(next, rule), ...coin(next, rule)];
}

function cause(round) {
  if (round.k === 0) return ["Nothing was drafted, so the target takes one plain step."];
  if (round.accepted === round.k)
    return ["Every draft stood, so the target's pass yields one more token for free: the bonus."];
  return [
    "After the rejection of ",
    { token: round.positions[round.accepted].x },
    " this token takes its place.",
  ];
}

function source(next, rule) {
  if (TAKES_ARGMAX.has(rule)) return [" The rule takes the target's most probable token."];
  if (rule === "gumbel") return [" It is what the target picked from p with the shared noise."];
  if (!next.residual) return [" It is the target's own draw from p."];
  if (next.residual.degenerate)
    return [" p and q are equal up to rounding, so the residual is empty; the token is drawn from p."];
  if (rule === "fault-residual-from-p")
    return [" This faulty rule draws it from p, where the residual (p − q)⁺ would be right."];
  return [
    ` It is drawn from ${RESIDUALS[rule] ?? "the rule's residual"}, of mass Z = ${decimal(next.residual.mass)}.`,
  ];
}

function coin(next, rule) {
  if (drawnByCoin(next, rule))
    return [` The coin fell at u = ${decimal(next.draw.u)}, in this token's slice.`];
  return !TAKES_ARGMAX.has(rule) && next.p === 1 ? [" All the mass is on it, so no coin was needed."] : [];
}
