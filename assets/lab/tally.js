// Many texts at once: their first two tokens counted, and held against the target.

import { chiSquare } from "./chi_square.js";
import { firstTokens } from "./play.js";

// How many points the running chi-square keeps.
const POINTS = 60;

export const emptyTally = (v) => ({
  n: 0,
  singles: new Array(v).fill(0),
  pairs: new Array(v * v).fill(0),
  track: [],
});

// Adds texts `tally.n` to `tally.n + more - 1` of the seed.
export function addTexts(tally, rule, { p, q, k, seed }, more) {
  const v = p.length;
  for (let i = 0; i < more; i += 1) {
    const [a, b] = firstTokens(rule, p, q, k, seed + tally.n, 2);
    tally.singles[a] += 1;
    tally.pairs[a * v + b] += 1;
    tally.n += 1;
  }
}

// Both tests, and how many texts held a token that the target never says.
export function tested({ n, singles, pairs }, p) {
  const both = p.flatMap((a) => p.map((b) => a * b));
  const outside = pairs.reduce((sum, count, i) => sum + (both[i] > 0 ? 0 : count), 0);
  return { singles: chiSquare(singles, p, n), pairs: chiSquare(pairs, both, n), outside };
}

// Notes where the tests stand now; an older point gives way once there are many.
export function note(tally, p) {
  const { singles, pairs } = tested(tally, p);
  tally.track.push({ n: tally.n, singles: singles.p, pairs: pairs.p });
  if (tally.track.length > POINTS) tally.track = tally.track.filter((_, i) => i % 2 || i === 0);
}
