// Arithmetic on rows, as engine/core/rows.py does it: a row is an array of V probabilities, its zeros being the
// tokens it does not have. Sums run in the order NumPy adds, so that thresholds come out the same to the last bit.

// Residual mass that the rounding of two equal rows can leave.
const ROUNDING_MASS = 1e-14;

// NumPy adds eight numbers as a tree and fewer from left to right.
export function sum(values) {
  const [a, b, c, d, e, f, g, h] = values;
  if (values.length === 8) return a + b + (c + d) + (e + f + (g + h));
  return values.reduce((total, value) => total + value, 0);
}

export const support = (row) => row.flatMap((prob, id) => (prob > 0 ? [id] : []));

// The ids that either row has.
export const union = (p, q) => p.flatMap((prob, id) => (prob > 0 || q[id] > 0 ? [id] : []));

const over = (ids, value) => sum(ids.map(value));

export const argmax = (row) => row.indexOf(Math.max(...row));

// The mass up to and with each token of the support; a row never changes, so each is added up once.
const added = new WeakMap();
function cumulative(row) {
  if (!added.has(row)) added.set(row, addUp(row));
  return added.get(row);
}

function addUp(row) {
  const ids = support(row);
  const upTo = [];
  let mass = 0;
  for (const id of ids) upTo.push((mass += row[id]));
  return { ids, upTo, total: mass };
}

// Inverse CDF: the token at quantile u and the slice [low, high) of [0, 1) that draws it.
export function quantile(row, u) {
  const { ids, upTo, total } = cumulative(row);
  const i = upTo.findIndex((mass) => mass > u * total);
  return { token: ids[i], low: i > 0 ? upTo[i - 1] / total : 0, high: upTo[i] / total };
}

// The slices of all tokens of a row: [{ token, low, high }].
export function slices(row) {
  const { ids, upTo, total } = cumulative(row);
  return ids.map((token, i) => ({ token, low: i > 0 ? upTo[i - 1] / total : 0, high: upTo[i] / total }));
}

// The ids of the n most probable tokens, ties by id.
export const top = (row, n) =>
  support(row)
    .sort((a, b) => row[b] - row[a] || a - b)
    .slice(0, n);

// norm(values+) and the mass before the division; { row: null, mass: 0 } when nothing is positive.
function positivePart(values) {
  const kept = support(values);
  const mass = over(kept, (id) => values[id]);
  if (mass <= 0) return { row: null, mass: 0 };
  return { row: values.map((value) => (value > 0 ? value / mass : 0)), mass };
}

// norm((scale p - q)+); nothing where there is no mass but what rounding leaves.
export function residual(p, q, scale = 1) {
  const found = positivePart(p.map((prob, id) => scale * prob - q[id]));
  return found.mass > ROUNDING_MASS ? found : { row: null, mass: 0 };
}

// norm((p - amount e_token)+).
export const without = (p, token, amount) =>
  positivePart(p.map((prob, id) => (id === token ? prob - amount : prob)));

// sum min(p, q) = 1 - TV: the most often any lossless rule can accept.
export const overlap = (p, q) => over(union(p, q), (id) => Math.min(p[id], q[id]));

// sum p q: how often two independent draws agree.
export const agreement = (p, q) => over(union(p, q), (id) => p[id] * q[id]);

export const tv = (p, q) => over(union(p, q), (id) => Math.abs(p[id] - q[id])) / 2;

// In nats.
export const entropy = (row) => -over(support(row), (id) => row[id] * Math.log(row[id])) + 0;
