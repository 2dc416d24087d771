// Pearson's chi-square of counts against a law, as engine/core/exactness.py has it: outcomes expected at least ten times
// stand alone, the others are one cell, and a test fails where a right rule does once in ten thousand.

export const ALPHA = 1e-4;
const MIN_EXPECTED = 10;

// P(chi-square of `dof` degrees of freedom >= statistic).
export function tail(statistic, dof) {
  const [a, x] = [dof / 2, statistic / 2];
  if (x <= 0) return 1;
  const front = Math.exp(a * Math.log(x) - x - logGamma(dof));
  return x < a + 1 ? 1 - front * series(a, x) : front * fraction(a, x);
}

// ln Gamma(dof / 2), by its recursion from Gamma(1/2) or Gamma(1).
function logGamma(dof) {
  let [value, at] = dof % 2 ? [Math.log(Math.PI) / 2, 0.5] : [0, 1];
  for (; at < dof / 2; at += 1) value += Math.log(at);
  return value;
}

// The regularised incomplete gamma function by its series below a + 1 (Abramowitz and Stegun 6.5.29) ...
function series(a, x) {
  let [term, total] = [1 / a, 1 / a];
  for (let n = 1; term > total * 1e-17; n += 1) {
    term *= x / (a + n);
    total += term;
  }
  return total;
}

// ... and by Lentz's continued fraction above (6.5.31).
function fraction(a, x) {
  const tiny = 1e-300;
  let b = x + 1 - a;
  let [c, d] = [1 / tiny, 1 / (b || tiny)];
  let [value, factor] = [d, 0];
  for (let n = 1; Math.abs(factor - 1) > 1e-15; n += 1) {
    b += 2;
    const step = n * (a - n);
    d = 1 / (step * d + b || tiny);
    c = b + step / c || tiny;
    factor = c * d;
    value *= factor;
  }
  return value;
}

// The cells of a law (an array of probabilities) for n samples: the outcomes that stand alone, and the mass of the rest.
function cells(law, n) {
  const kept = law.flatMap((prob, outcome) => (n * prob >= MIN_EXPECTED ? [outcome] : []));
  const mass = kept.map((outcome) => law[outcome]);
  const rest = Math.max(0, 1 - mass.reduce((sum, prob) => sum + prob, 0));
  if (n * rest >= MIN_EXPECTED || !kept.length) return { kept, probs: [...mass, rest], absorbing: null };
  const absorbing = mass.indexOf(Math.min(...mass));
  mass[absorbing] += rest;
  return { kept, probs: mass, absorbing };
}

// { statistic, dof, p } of counts over the outcomes of a law, n in all. p is 1 where there is but one cell.
export function chiSquare(counts, law, n) {
  const { kept, probs, absorbing } = cells(law, n);
  const seen = kept.map((outcome) => counts[outcome]);
  const others = n - seen.reduce((sum, count) => sum + count, 0);
  if (absorbing === null) seen.push(others);
  else seen[absorbing] += others;
  const statistic = probs.reduce((sum, prob, i) => sum + (seen[i] - n * prob) ** 2 / (n * prob), 0);
  const dof = probs.length - 1;
  return { statistic, dof, p: dof ? tail(statistic, dof) : 1 };
}
