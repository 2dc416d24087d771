// Why a token has its fate, as sentences with this token's own numbers. A sentence is a list of strings and
// { token } (an id to be shown as text). Pure: everything comes from the round view.

import { decimal, percent } from "./format.js";

const TAKES_ARGMAX = new Set(["argmax", "greedy-argmax"]);
const close = (a, b) => Math.abs(a - b) <= 1e-9;

// What the threshold of a coin is, in the letters of the rule tables.
export function thresholdName(position, rule) {
  const { p, q, accept_prob: threshold } = position;
  if (rule === "block") return "h";
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
  if (name === "min(1, p/q)") return `min(1, p/q) = min(1, ${decimal(position.p)} / ${decimal(position.q)}) = ${result}`;
  if (name === "h") return `h = ${result}, the chance that a prefix of this length stands`;
  return name === "p(x)" ? `p(x) = ${result}` : `acceptance probability ${result}`;
}

export function headline(round, pos) {
  const position = round.positions[pos];
  if (position) {
    const verb = { accepted: "was kept", rejected: "was rejected", untested: "was not tested" }[position.fate];
    return ["Why ", { token: position.x }, ` ${verb}`];
  }
  return ["Where ", { token: round.next.token }, " came from"];
}

export function explainDraft(round, pos, rule) {
  const position = round.positions[pos];
  const out = [...opening(position), ...decide(round, pos, rule)];
  if (position.rescued) {
    out.push(" The target's own draw here was ", { token: position.own.token }, ": plain sampling would have written that, yet the draft stood.");
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
  if (threshold >= 1) return [" The target wants it at least as much as the draft did, so it is kept wherever the coin falls."];
  const side = fate === "accepted" ? "below" : "not below";
  const end = fate === "accepted" ? "kept." : "rejected.";
  return [` So it is kept with probability ${decimal(threshold)}. The coin fell at u = ${decimal(u)}, ${side} that: ${end}`];
}

function prefixTest({ fate, passed, u, accept_prob: threshold }) {
  const test = ` Block verification weighs whole prefixes: the one that ends here stands with probability h = ${decimal(threshold)}, and the coin fell at u = ${decimal(u)}`;
  if (passed) return [`${test}, below it: this prefix stands.`];
  if (fate === "accepted") return [`${test}, not below it. A longer prefix stood, and carries this draft with it.`];
  return [`${test}, not below it, and no longer prefix stood: ${fate === "rejected" ? "rejected." : "dropped with the rest."}`];
}

function withoutCoin(round, position, rule) {
  const kept = position.fate === "accepted";
  if (position.q === 0) return [" The draft row gives it no mass, so it cannot stand."];
  if (rule === "sampler-match") {
    if (kept) return [" The target drew its own token here and it was the same one, so the draft stands."];
    return [" The target drew its own token here, ", { token: position.own.token }, ": another one, so it takes the draft's place."];
  }
  if (TAKES_ARGMAX.has(rule)) {
    if (kept) return [" It is the target's most probable token, so it stands."];
    const winner = round.next ? ["The most probable token of the target is ", { token: round.next.token }] : ["It is not the target's most probable token"];
    return [" ", ...winner, ", so the draft falls."];
  }
  return [` The rule tosses no coin here: it ${kept ? "keeps" : "drops"} the draft.`];
}

// Where the token after the accepted drafts came from, in two or three words.
export function origin(round, rule) {
  const { next } = round;
  if (next.residual) {
    if (next.residual.degenerate) return "from p (no residual)";
    return rule === "fault-residual-from-p" ? "from p (the fault)" : "from the residual";
  }
  return TAKES_ARGMAX.has(rule) ? "argmax of p" : "drawn from p";
}

export function explainNext(round, rule) {
  const { next } = round;
  return [...cause(round), ...source(next, rule), ...coin(next, rule)];
}

function cause(round) {
  if (round.k === 0) return ["Nothing was drafted, so the target takes one plain step."];
  if (round.accepted === round.k) return ["Every draft stood, so the target's pass yields one more token for free: the bonus."];
  return ["After the rejection of ", { token: round.positions[round.accepted].x }, " this token takes its place."];
}

function source(next, rule) {
  if (next.residual?.degenerate) return [" p and q are equal up to rounding, so the residual is empty; the token is drawn from p."];
  if (rule === "fault-residual-from-p" && next.residual) {
    return [" This faulty rule draws it from p, where the residual (p − q)⁺ would be right."];
  }
  if (next.residual) {
    return [` It is drawn from the residual, the part of p that the draft does not cover, of mass Z = ${decimal(next.residual.mass)}.`];
  }
  if (TAKES_ARGMAX.has(rule)) return [" The rule takes the target's most probable token."];
  return [" It is the target's own draw from p."];
}

function coin(next, rule) {
  if (next.draw.u !== null && !(TAKES_ARGMAX.has(rule) && !next.residual)) {
    return [` The coin fell at u = ${decimal(next.draw.u)}, in this token's slice.`];
  }
  return TAKES_ARGMAX.has(rule) ? [] : [" All the mass is on it, so no coin was needed."];
}
