// The rules that trade the target's distribution for speed, as engine/rules/ has them.

import { argmax, entropy, residual, sum, top, tv, union } from "./rows.js";
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
  withoutDraft,
} from "./tokenwise.js";

// sum over x of d(x) a(x).
export const kept = (drawn, accept) => drawn.reduce((mass, d, x) => mass + (d > 0 ? d * accept(x) : 0), 0);

// min(1, p/q), 0 where q has no mass.
export const ratio = (p, q) => (q > 0 ? Math.min(1, p / q) : 0);

export const lenient = ({ leniency }) => ({
  judge(block, coins) {
    const test = (i) =>
      coinTest(block, coins, pOf(block, i), leniency * qOf(block, i), block.at("accept", i));
    const refill = (i) => drawResidual(block, coins, i, residual(block.p(i), block.q(i), 1 / leniency));
    return judgeEach(block, coins, test, refill);
  },
  acceptance: (p, q) => kept(q, (x) => ratio(p[x], leniency * q[x])),
});

export const ensemble = ({ weight }) => ({
  judge(block, coins) {
    const test = (i) => {
      const [p, q] = [pOf(block, i), qOf(block, i)];
      // p(x) = 0 is never accepted, whatever the blend says.
      return coinTest(block, coins, (1 - weight) * q + weight * p, p > 0 ? q : 0, block.at("accept", i));
    };
    return judgeEach(block, coins, test, fromResidual(block, coins));
  },
  acceptance: (p, q) => kept(q, (x) => (p[x] > 0 ? ratio((1 - weight) * q[x] + weight * p[x], q[x]) : 0)),
});

export function typical({ epsilon, delta }) {
  const bar = (p) => Math.min(epsilon, delta * Math.exp(-entropy(p)));
  return {
    judge(block, coins) {
      const test = (i) => sure(pOf(block, i) > bar(block.p(i)));
      return judgeEach(block, coins, test, fromTarget(block, coins));
    },
    acceptance: (p, q) => kept(q, (x) => Number(p[x] > bar(p))),
  };
}

export const threshold = ({ single, accumulated }) => ({
  judge(block, coins) {
    const test = (i) => {
      const p = pOf(block, i);
      return p >= single ? sure(true) : coinTest(block, coins, p, accumulated, block.at("accept", i));
    };
    return judgeEach(block, coins, test, withoutDraft(block, coins));
  },
  acceptance: (p, q) => kept(q, (x) => (p[x] >= single ? 1 : Math.min(1, p[x] / accumulated))),
});

export function relaxed({ top: n, delta }) {
  const close = (p) => {
    const best = top(p, n);
    return best.filter((id) => p[id] >= p[best[0]] - delta);
  };
  return {
    judge(block, coins) {
      const best = (i) => argmax(block.p(i));
      const test = (i) => sure(close(block.p(i)).includes(block.token(i)));
      return judgeEach(block, coins, test, (i) => ({ next: best(i) }), best);
    },
    acceptance: (p, q) => kept(q, (x) => Number(close(p).includes(x))),
  };
}

export function cascade({ alpha }) {
  const trusts = (p, q) => Math.max(...q) >= Math.max(...p) - alpha * tv(p, q);
  return {
    judge(block, coins) {
      const test = (i) => {
        // No trust covers a token that q cannot have drawn, or that p rules out.
        const possible = qOf(block, i) > 0 && pOf(block, i) > 0;
        return possible && trusts(block.p(i), block.q(i)) ? sure(true) : ratioTest(block, coins, i);
      };
      return judgeEach(block, coins, test, fromResidual(block, coins));
    },
    acceptance: (p, q) => kept(q, (x) => (trusts(p, q) ? Number(p[x] > 0) : ratio(p[x], q[x]))),
  };
}

export const synthetic = ({ rate, decay }) => ({
  judge(block, coins) {
    const test = (i) => {
      if (!(pOf(block, i) > 0)) return sure(false);
      return coinTest(block, coins, rate * decay ** i, 1, block.at("accept", i));
    };
    return judgeEach(block, coins, test, fromTarget(block, coins));
  },
  acceptance: (p, q, i = 0) => kept(q, (x) => (p[x] > 0 ? rate * decay ** i : 0)),
});

// A rejected draft stands after all if the target was unsure there and the next drafts all pass.
export function fly({ entropy: least, window }) {
  const unsure = (p) => entropyOfTop3(p) >= least;
  const forgives = (p, possible, native, i) => {
    const behind = native.slice(i + 1, i + 1 + window);
    return behind.length === window && behind.every(Boolean) && possible && unsure(p);
  };
  return {
    looksAhead: true,
    judge(block, coins) {
      const native = Array.from({ length: block.k }, (_, i) => ratioTest(block, coins, i));
      const stood = native.map((check) => check.accepted);
      const test = (i) => {
        const possible = qOf(block, i) > 0 && pOf(block, i) > 0;
        const forgiven = !stood[i] && forgives(block.p(i), possible, stood, i);
        return forgiven ? { ...native[i], accepted: true } : native[i];
      };
      return judgeEach(block, coins, test, fromResidual(block, coins));
    },
    // A lower bound: what rejection sampling accepts.
    acceptance: (p, q) => kept(q, (x) => ratio(p[x], q[x])),
    accepted: (p, q, k) => {
      let mean = 0;
      eachFate(p, q, k, k, (drafts, weight) => (mean += weight * stands(drafts).length));
      return mean;
    },
    // Only the first two drafts are told apart; of those behind, what counts is whether they pass.
    firstTwo(p, q, k) {
      const one = p.map(() => 0);
      const two = p.map(() => p.map(() => 0));
      const refill = residual(p, q).row ?? p;
      const spread = (into, mass, row) => row.forEach((prob, id) => (into[id] += mass * prob));
      eachFate(p, q, k, 2, (drafts, weight) => {
        const n = stands(drafts).length;
        if (n === 0) spread(one, weight, refill);
        else if (n === 1) spread(two[drafts[0].x], weight, k === 1 ? p : refill);
        else two[drafts[0].x][drafts[1].x] += weight;
      });
      return { one, two };
    },
  };

  // The drafts that stand, forgiven ones included.
  function stands(drafts) {
    const passed = drafts.map((draft) => draft.passed);
    const fails = drafts.findIndex(
      (draft, i) => !draft.passed && !forgives(draft.p, draft.possible, passed, i),
    );
    return fails < 0 ? drafts : drafts.slice(0, fails);
  }
}

// Every way k drafts can fare under the ratio test, with its probability; beyond the first `apart`, tokens are lumped
// by what can become of them.
function eachFate(p, q, k, apart, visit) {
  const single = union(p, q).flatMap((x) => {
    const a = ratio(p[x], q[x]);
    const draft = { x, p, possible: q[x] > 0 && p[x] > 0 };
    return [
      { ...draft, passed: true, weight: q[x] * a },
      { ...draft, passed: false, weight: q[x] * (1 - a) },
    ];
  });
  const lumps = [
    [true, true],
    [false, true],
    [false, false],
  ].map(([passed, possible]) => ({
    x: null,
    p,
    passed,
    possible,
    weight: single
      .filter((fate) => fate.passed === passed && (passed || fate.possible === possible))
      .reduce((mass, fate) => mass + fate.weight, 0),
  }));
  const walk = (drafts, weight) => {
    if (drafts.length === k) return visit(drafts, weight);
    const fates = drafts.length < apart ? single : lumps;
    return fates.forEach((fate) => fate.weight > 0 && walk([...drafts, fate], weight * fate.weight));
  };
  walk([], 1);
}

// Entropy in nats of the three most probable tokens, renormalised.
function entropyOfTop3(p) {
  const best = top(p, 3).map((id) => p[id]);
  const mass = sum(best);
  return -sum(best.map((prob) => (prob / mass) * Math.log(prob / mass)));
}
