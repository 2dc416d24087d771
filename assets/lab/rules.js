// The rules that claim the target's distribution, as engine/rules/ has them. A rule here is its behaviour alone: titles,
// formulas and parameters come from the engine. `acceptance(p, q, i)` is the closed form where every earlier draft of
// the round stood.

import { agreement, argmax, overlap, union } from "./rows.js";
import {
  coinTest,
  fromResidual,
  fromTarget,
  judgeEach,
  pOf,
  ratioTest,
  sure,
  targetDraw,
  withoutDraft,
} from "./tokenwise.js";

export const stochastic = () => ({
  judge: (block, coins) =>
    judgeEach(block, coins, (i) => ratioTest(block, coins, i), fromResidual(block, coins)),
  acceptance: overlap,
});

export const samplerMatch = () => ({
  judge(block, coins) {
    const test = (i) => sure(targetDraw(block, coins, i) === block.token(i), pOf(block, i));
    return judgeEach(block, coins, test, fromTarget(block, coins));
  },
  acceptance: agreement,
});

export const oneHot = () => ({
  judge(block, coins) {
    const test = (i) => coinTest(block, coins, pOf(block, i), 1, block.at("accept", i));
    return judgeEach(block, coins, test, withoutDraft(block, coins));
  },
  acceptance: agreement,
});

// The target's argmax, at every temperature: lossless for a one-hot row alone.
export const argmaxMatch = () => ({
  judge(block, coins) {
    const best = (i) => argmax(block.p(i));
    const test = (i) => sure(block.token(i) === best(i));
    return judgeEach(block, coins, test, (i) => ({ next: best(i) }), best);
  },
  acceptance: (p, q) => q[argmax(p)],
});

// One noise a position, for the draft and the target alike. Never a second one for a later attempt.
const noise = (at) => ({ ...at, purpose: "noise", attempt: 0 });

export const gumbel = () => ({
  draft: (row, coins, at) => coins.race(row, noise(at)),
  targetDraw: (row, coins, at) => coins.race(row, noise(at)),
  judge(block, coins) {
    const picked = (i) => coins.race(block.p(i), noise(block.at("target", i)));
    const test = (i) => sure(picked(i) === block.token(i));
    return judgeEach(block, coins, test, (i) => ({ next: picked(i) }), picked);
  },
  acceptance: (p, q) => p.reduce((sum, _, x) => sum + bothPick(p, q, x), 0),
  // Whether both pick x is 1 / sum_v max(p_v/p_x, q_v/q_x); else p's pick follows, whatever the draft was.
  firstTwo(p, q) {
    const agreed = p.map((_, x) => bothPick(p, q, x));
    return {
      one: p.map((prob, x) => prob - agreed[x]),
      two: agreed.map((mass) => p.map((prob) => mass * prob)),
    };
  },
});

function bothPick(p, q, x) {
  if (!(p[x] > 0 && q[x] > 0)) return 0;
  return 1 / union(p, q).reduce((sum, v) => sum + Math.max(p[v] / p[x], q[v] / q[x]), 0);
}
