// Where the Lab's randomness comes from, addressed as in engine/core/coins.py: every number belongs to a purpose, a
// position and an attempt under the seed, so changing the rule never moves another draw.

import { keyOf, uniform, words } from "./philox.js";
import { quantile, support } from "./rows.js";

export const nameOf = ({ purpose, position, attempt = 0 }) => `${purpose} ${position} ${attempt}`;

// Coins under a seed. `held` puts some elsewhere (name -> u); `fallen` keeps each as it fell, by name.
export function seededCoins(seed, held = new Map()) {
  const key = keyOf(seed);
  const fallen = new Map();
  const toss = (at) => held.get(nameOf(at)) ?? uniform(key, at);
  return {
    fallen,
    u: toss,
    flip(prob, at, per = 1) {
      const u = toss(at);
      const accepted = u * per < prob;
      fallen.set(nameOf(at), { at, u, outcome: Number(accepted) });
      return { accepted, u };
    },
    choose(row, at) {
      const ids = support(row);
      if (ids.length === 1) return ids[0]; // forced: no coin
      const u = toss(at);
      const { token, low, high } = quantile(row, u);
      fallen.set(nameOf(at), { at, u, outcome: token, low, high });
      return token;
    },
    race(row, at) {
      const ids = support(row);
      if (ids.length === 1) return ids[0];
      const clocks = arrivals(key, at, row.length);
      const first = ids.reduce((best, id) => (clocks[id] / row[id] < clocks[best] / row[best] ? id : best));
      fallen.set(nameOf(at), { at, u: Math.exp(-clocks[first]), outcome: first, clocks });
      return first;
    },
  };
}

// Each token's exponential clock at an address, the same for every row asked there.
function arrivals(key, at, n) {
  return words(key, at, n).map((word) => -Math.log((word + 0.5) * 2 ** -53));
}
