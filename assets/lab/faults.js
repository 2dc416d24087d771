// The rules that are wrong on purpose, as engine/rules/fault_*.py: kept to be seen failing.

import { kept, ratio } from "./biased.js";
import { argmax, overlap, sum, top, without } from "./rows.js";
import {
  coinTest,
  drawResidual,
  fromResidual,
  fromTarget,
  judgeEach,
  pOf,
  qOf,
  ratioTest,
  sure,
  targetDraw,
} from "./tokenwise.js";

// The right test with another refill.
const refilledBy = (refill) => (block, coins) =>
  judgeEach(block, coins, (i) => ratioTest(block, coins, i), refill(block, coins));

export const residualFromP = () => ({
  judge: refilledBy((block, coins) => (i) => drawResidual(block, coins, i, { row: block.p(i), mass: 1 })),
  acceptance: overlap,
});

export const oneTokenResidual = () => ({
  judge: refilledBy(
    (block, coins) => (i) =>
      drawResidual(block, coins, i, without(block.p(i), block.token(i), qOf(block, i))),
  ),
  acceptance: overlap,
});

export const sharedCoin = () => ({
  judge(block, coins) {
    const test = (i) => coinTest(block, coins, pOf(block, i), qOf(block, i), block.at("accept", 0));
    return judgeEach(block, coins, test, fromResidual(block, coins));
  },
  acceptance: overlap,
  // At each u, sum of q over the tokens that pass; all i drafts pass with its i-th power.
  accepted(p, q, k) {
    const bars = q.map((prob, x) => ratio(p[x], prob));
    const cuts = [...new Set([0, ...bars, 1])].sort((a, b) => a - b);
    return cuts.slice(1).reduce((mean, high, i) => {
      const passing = q.reduce((mass, prob, x) => mass + (bars[x] >= high ? prob : 0), 0);
      return mean + (high - cuts[i]) * powers(passing, k);
    }, 0);
  },
});

export const softmaxQ = () => ({
  draft: (row) => argmax(row),
  judge: refilledBy(fromResidual),
  acceptance(p, q) {
    const x = argmax(q);
    return ratio(p[x], q[x]);
  },
});

export function rawQ({ top: n }) {
  const filtered = (row) => {
    const ids = top(row, n).sort((a, b) => a - b);
    const mass = sum(ids.map((id) => row[id]));
    return row.map((prob, id) => (ids.includes(id) ? prob / mass : 0));
  };
  return {
    draft: (row, coins, at) => coins.choose(filtered(row), at),
    drawn: filtered,
    judge: refilledBy(fromResidual),
    acceptance: (p, q) => kept(filtered(q), (x) => ratio(p[x], q[x])),
  };
}

export const stringMatch = () => ({
  judge(block, coins) {
    const test = (i) =>
      targetDraw(block, coins, i) === block.token(i) ? sure(true) : ratioTest(block, coins, i);
    return judgeEach(block, coins, test, fromTarget(block, coins));
  },
  acceptance: (p, q) => kept(q, (x) => p[x] + (1 - p[x]) * ratio(p[x], q[x])),
});

// a + a^2 + ... + a^k.
const powers = (a, k) => Array.from({ length: k }, (_, i) => a ** (i + 1)).reduce((x, y) => x + y, 0);
