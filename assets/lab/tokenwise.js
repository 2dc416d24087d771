// What rules that decide token by token share, as in engine/rules/tokenwise.py: test each draft until one fails,
// then refill or go on. A block is { k, token(i), p(i), q(i), at(purpose, i) }; a row may be asked for late, so that a
// draw no decision looks at is never made.

import { residual, without } from "./rows.js";

export const pOf = (block, i) => block.p(i)[block.token(i)];
export const qOf = (block, i) => block.q(i)[block.token(i)];

// Runs test(i) until one fails, then refill(i) there; bonus(k), by default the target's own draw, when all stand.
export function judgeEach(block, coins, test, refill, bonus = (k) => targetDraw(block, coins, k)) {
  const checks = [];
  for (let i = 0; i < block.k; i += 1) {
    checks.push(test(i));
    if (!checks[i].accepted) return { checks, n: i, source: "corrected", ...refill(i) };
  }
  return { checks, n: block.k, source: "bonus", next: bonus(block.k) };
}

export const targetDraw = (block, coins, i) => coins.choose(block.p(i), block.at("target", i));

// A draw from a residual; one without mass (p = q up to rounding) gives way to p.
export function drawResidual(block, coins, i, { row, mass }) {
  const from = row ?? block.p(i);
  return {
    next: coins.choose(from, block.at("residual", i)),
    residual: from,
    mass,
    degenerate: row === null,
  };
}

export const fromTarget = (block, coins) => (i) => ({ next: targetDraw(block, coins, i) });

export const fromResidual = (block, coins) => (i) =>
  drawResidual(block, coins, i, residual(block.p(i), block.q(i)));

export const withoutDraft = (block, coins) => (i) =>
  drawResidual(block, coins, i, without(block.p(i), block.token(i), pOf(block, i)));

// A coin against prob / per, without a division; no coin where `per` is 0.
export function coinTest(block, coins, prob, per, at) {
  if (!(per > 0)) return { threshold: 0, u: null, accepted: false };
  return { threshold: Math.min(1, prob / per), ...coins.flip(prob, at, per) };
}

// Accept iff u q(x) < p(x).
export const ratioTest = (block, coins, i) =>
  coinTest(block, coins, pOf(block, i), qOf(block, i), block.at("accept", i));

// A test without a coin.
export const sure = (accepted, threshold = Number(accepted)) => ({ threshold, u: null, accepted });
