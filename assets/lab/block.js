// Block verification (Sun et al. 2024), as engine/rules/block.py: the drafts are judged together, and the longest prefix
// that its own test lets stand is kept. Its law is summed over all blocks, which needs no branching.

import { overlap, residual, sum, union } from "./rows.js";
import { drawResidual, pOf, qOf, targetDraw } from "./tokenwise.js";

export const blockVerification = () => ({
  looksAhead: true,
  judge(block, coins) {
    const r = [1];
    for (let i = 0; i < block.k; i += 1) r.push(ratioOn(r[i], pOf(block, i), qOf(block, i)));
    const checks = [];
    for (let i = 1; i <= block.k; i += 1) {
      const h = i === block.k ? r[i] : keepProbability(block.p(i), block.q(i), r[i]);
      checks.push({ threshold: h, ...coins.flip(h, block.at("accept", i - 1)) });
    }
    const n = checks.findLastIndex((check) => check.accepted) + 1;
    if (n === block.k) return { checks, n, source: "bonus", next: targetDraw(block, coins, n) };
    return {
      checks,
      n,
      source: "corrected",
      ...drawResidual(block, coins, n, residual(block.p(n), block.q(n), r[n])),
    };
  },
  // A lower bound for one position of a block; alone, a draft is judged by rejection sampling.
  acceptance: overlap,
  firstTwo,
  accepted(p, q, k) {
    let mean = 0;
    eachBlock(p, q, k, (tokens, weight, ends) => {
      ends.forEach((chance, n) => (mean += weight * chance * n));
    });
    return mean;
  },
});

const ratioOn = (r, p, q) => (q > 0 ? Math.min(1, (r * p) / q) : 0);

// h_i of an inner prefix: how often stopping after i drafts keeps the law exact.
function keepProbability(p, q, r) {
  const m = sum(union(p, q).map((id) => Math.max(r * p[id] - q[id], 0)));
  return m > 0 ? m / (m + (1 - r)) : 0;
}

// Every block of k drafts from q: its tokens, its probability, and the chance of each accepted length.
function eachBlock(p, q, k, visit) {
  const walk = (tokens, r, weight, h) => {
    if (tokens.length === k) return visit(tokens, weight, lengths(h));
    return q.forEach((prob, x) => {
      if (!(prob > 0)) return;
      const next = ratioOn(r, p[x], prob);
      const keep = tokens.length + 1 === k ? next : keepProbability(p, q, next);
      walk([...tokens, x], next, weight * prob, [...h, keep]);
    });
  };
  walk([], 1, 1, []);
}

// The chance that the longest standing prefix has n drafts, n from 0 to k.
function lengths(h) {
  const out = new Array(h.length + 1).fill(0);
  let longer = 1; // no longer prefix stood
  for (let n = h.length; n > 0; n -= 1) {
    out[n] = longer * h[n - 1];
    longer *= 1 - h[n - 1];
  }
  out[0] = longer;
  return out;
}

// A block that stops after n < 2 drafts refills from norm((r_n p - q)+), and r_1 depends on the first draft alone.
function firstTwo(p, q, k) {
  const two = p.map(() => p.map(() => 0));
  const stopped = p.map(() => 0); // after one draft, by that draft
  let none = 0;
  eachBlock(p, q, k, ([a, b], weight, ends) => {
    none += weight * ends[0];
    stopped[a] += weight * ends[1];
    ends.slice(2).forEach((chance) => (two[a][b] += weight * chance));
  });
  const refill = (r) => residual(p, q, r).row ?? p;
  stopped.forEach((mass, a) => {
    if (!(mass > 0)) return;
    const from = k === 1 ? p : refill(ratioOn(1, p[a], q[a]));
    from.forEach((prob, b) => (two[a][b] += mass * prob));
  });
  return { one: refill(1).map((prob) => none * prob), two };
}
