// The exact law of a text's first two tokens under a rule whose every position has the same p and q. The rule's own
// judge is run over every way its coins can fall, as engine/core/law.py does it: of each coin only the interval its u
// still lies in is known, and a flip or a draw cuts that interval.

import { nameOf } from "./coins.js";
import { slices } from "./rows.js";

// The tokens of a text that are looked at.
const LENGTH = 2;

// The bounds of a row's slices, each row cut up once.
function cutter() {
  const known = new Map();
  return (row) => {
    if (!known.has(row)) {
      const parts = slices(row);
      const tokens = parts.map((part) => part.token);
      known.set(row, { tokens, bounds: [0, ...parts.map((part) => part.high)] });
    }
    return known.get(row);
  };
}

// Coins that follow one path through the branches: `path` is the piece to take at each.
function branchingCoins(path, cutUp) {
  const intervals = new Map();
  const pieces = [];
  const coins = { weight: 1, path, pieces };
  const branch = (n) => {
    if (n === 1) return 0;
    if (pieces.length === path.length) path.push(0);
    pieces.push(n);
    return path[pieces.length - 1];
  };
  const cut = (at, bounds) => {
    const key = nameOf(at);
    const [low, high] = intervals.get(key) ?? [0, 1];
    const found = [];
    for (let i = 0; i + 1 < bounds.length; i += 1) {
      const [a, b] = [bounds[i], bounds[i + 1]];
      if (a < high && low < b && a < b) found.push(i);
    }
    const i = found[branch(found.length)];
    const [a, b] = [Math.max(bounds[i], low), Math.min(bounds[i + 1], high)];
    coins.weight *= (b - a) / (high - low);
    intervals.set(key, [a, b]);
    return i;
  };
  coins.flip = (prob, at, per = 1) => {
    const accepted = cut(at, [0, prob >= per ? 1 : prob / per, 1]) === 0;
    return { accepted, u: null };
  };
  coins.choose = (row, at) => {
    const { tokens, bounds } = cutUp(row);
    // What stands behind the tokens that are looked at may be anything.
    return at.position >= LENGTH ? tokens[0] : tokens[cut(at, bounds)];
  };
  return coins;
}

function nextPath({ path, pieces }) {
  const next = path.slice();
  while (next.length && next[next.length - 1] + 1 === pieces[next.length - 1]) next.pop();
  if (!next.length) return null;
  next[next.length - 1] += 1;
  return next;
}

// Calls visit(result of run(coins), probability) for every way the coins can fall.
function branches(run, visit) {
  const cutUp = cutter();
  for (let path = []; path !== null;) {
    const coins = branchingCoins(path, cutUp);
    const result = run(coins);
    visit(result, coins.weight);
    path = nextPath(coins);
  }
}

// A block of k drafts at position 0 with the same rows everywhere; a draft is drawn when it is first looked at.
function lazyBlock(rule, p, q, k, coins) {
  const tokens = [];
  return {
    k,
    token: (i) => (tokens[i] ??= rule.draft(q, coins, { purpose: "draft", position: i, attempt: 0 })),
    p: () => p,
    q: () => q,
    at: (purpose, position) => ({ purpose, position, attempt: 0 }),
  };
}

// What the first round of a text shows of its first two tokens: `one[a]`, a alone was emitted, and `two[a][b]`.
// What stands behind a second draft changes nothing there, unless the rule looks ahead (which has a way of its own).
function firstRound(rule, p, q, k) {
  if (rule.firstTwo) return rule.firstTwo(p, q, k);
  const one = p.map(() => 0);
  const two = p.map(() => p.map(() => 0));
  const run = (coins) => {
    const block = lazyBlock(rule, p, q, Math.min(k, LENGTH), coins);
    const { n, next } = rule.judge(block, coins);
    return [...Array.from({ length: n }, (_, i) => block.token(i)), next];
  };
  branches(run, ([a, b], weight) => {
    if (b === undefined) one[a] += weight;
    else two[a][b] += weight;
  });
  return { one, two };
}

// { singles: [V], pairs: [V][V] }. After a round of one token the next begins anew, with coins of its own.
export function lawOf(rule, p, q, k) {
  const { one, two } = firstRound(rule, p, q, k);
  const singles = one.map((mass, a) => two[a].reduce((sum, more) => sum + more, mass));
  const pairs = two.map((row, a) => row.map((mass, b) => mass + one[a] * singles[b]));
  return { singles, pairs };
}

const distance = (a, b) => a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / 2;

// Total variation distances to the target: of one token, and of two.
export function distances({ singles, pairs }, p) {
  return {
    single: distance(singles, p),
    pair: distance(
      pairs.flat(),
      p.flatMap((a) => p.map((b) => a * b)),
    ),
  };
}
