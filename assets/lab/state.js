// What the Lab is set to, and the moves that change it. Probabilities are whole ten-thousandths, so that a link holds
// them exactly and a reload meets the same coins with the same rows. Pure.

export const FEWEST = 2;
export const MOST = 8;
const UNIT = 1e-4;
export const DRAFTS = [1, 2, 3, 4];
export const RUNGS = ["coin", "position", "text", "rules"];
export const SPARE = ["cat", "dog", "fox", "owl", "bee", "elk", "ant", "yak"];

// The pairs that teach most; `says` is what to look for.
export const PRESETS = [
  {
    id: "cat-dog-fox",
    title: "cat, dog, fox",
    says: "the pair worked out in the docs",
    p: [0.3, 0.5, 0.2],
    q: [0.6, 0.3, 0.1],
  },
  {
    id: "confident",
    title: "confident drafter",
    says: "it bets nearly all on one token; see under The ceiling what argmax match makes of that",
    p: [0.3, 0.25, 0.25, 0.2],
    q: [0.95, 0.03, 0.01, 0.01],
  },
  {
    id: "diffuse",
    title: "diffuse drafter",
    says: "it hardly knows; the target does",
    p: [0.7, 0.15, 0.08, 0.04, 0.02, 0.01],
    q: [0.18, 0.18, 0.16, 0.16, 0.16, 0.16],
  },
  {
    id: "equal",
    title: "equal",
    says: "nothing is ever rejected, and the residual is empty",
    p: [0.5, 0.3, 0.2],
    q: [0.5, 0.3, 0.2],
  },
  {
    id: "disjoint",
    title: "disjoint",
    says: "they share no token, so every draft falls",
    p: [0.5, 0.5, 0, 0],
    q: [0, 0, 0.4, 0.6],
  },
  {
    id: "one-hot",
    title: "one-hot drafter",
    says: "a drafter that is always sure, as a lookup is",
    p: [0.4, 0.35, 0.25],
    q: [1, 0, 0],
  },
  {
    id: "pairs",
    title: "passes singles, fails pairs",
    says: "with one coin for the block every single token looks right; only pairs tell",
    p: [0.3333, 0.6667],
    q: [0.6667, 0.3333],
    rule: "fault-shared-coin",
    k: 2,
  },
];

export const FIRST = {
  names: SPARE.slice(0, 3),
  p: PRESETS[0].p,
  q: PRESETS[0].q,
  k: 2,
  rule: "stochastic",
  params: {},
  seed: 0,
  text: 0, // which text of the seed is stepped through
  stage: 0, // how many of its steps are shown
  rung: "coin",
  panel: null, // where a link leads: rows, law, steps, many, ladder or ceiling
};

// The nearest whole ten-thousandths that sum to 1 (largest remainders), whatever the values sum to.
export function quantised(values) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const exact = values.map((value) => (total > 0 ? value / total : 1 / values.length) / UNIT);
  const whole = exact.map(Math.floor);
  const left = Math.round(1 / UNIT) - whole.reduce((sum, value) => sum + value, 0);
  exact
    .map((value, i) => [value - whole[i], i])
    .sort(([a, i], [b, j]) => b - a || i - j)
    .slice(0, left)
    .forEach(([, i]) => (whole[i] += 1));
  return whole.map((value) => Number((value * UNIT).toFixed(4)));
}

// One probability set; the others keep their proportions and make the sum 1 again.
function withProb(row, i, value) {
  const wanted = Math.round(Math.min(1, Math.max(0, value)) / UNIT) * UNIT;
  const others = row.reduce((sum, prob, j) => (j === i ? sum : sum + prob), 0);
  const scaled = row.map((prob, j) => {
    if (j === i) return wanted;
    return others > 0 ? (prob * (1 - wanted)) / others : (1 - wanted) / (row.length - 1);
  });
  return quantised(scaled);
}

const fresh = { text: 0, stage: 0 };

// `from` is the row as it was when a drag began: a bar that comes back leaves the others as they were.
export const setProb = (lab, side, i, value, from = lab[side]) => ({
  ...lab,
  ...fresh,
  [side]: withProb(from, i, value),
});

export const rename = (lab, i, name) => ({
  ...lab,
  names: lab.names.map((old, j) => (j === i ? name : old)),
});

// A new token gets a tenth of either row.
export function addToken(lab) {
  if (lab.names.length >= MOST) return lab;
  const add = (row) => quantised([...row.map((prob) => prob * 0.9), 0.1]);
  const name = SPARE.find((one) => !lab.names.includes(one)) ?? `t${lab.names.length}`;
  return { ...lab, ...fresh, names: [...lab.names, name], p: add(lab.p), q: add(lab.q) };
}

export function removeToken(lab, i) {
  if (lab.names.length <= FEWEST) return lab;
  const drop = (list) => list.filter((_, j) => j !== i);
  return { ...lab, ...fresh, names: drop(lab.names), p: quantised(drop(lab.p)), q: quantised(drop(lab.q)) };
}

export const preset = (lab, { p, q, rule = lab.rule, k = lab.k }) => ({
  ...lab,
  ...fresh,
  names: SPARE.slice(0, p.length),
  p,
  q,
  rule,
  k,
  params: rule === lab.rule ? lab.params : {},
});

// Which preset is on view, or null.
export const presetOf = ({ p, q }) =>
  PRESETS.find((one) => one.p.join() === p.join() && one.q.join() === q.join()) ?? null;

// A rule's parameters: the engine's defaults, and what was changed, within its limits.
export function paramsOf({ parameters = [] } = {}, changed = {}) {
  return Object.fromEntries(
    parameters.map(({ name, default: usual, low, high }) => {
      const asked = changed[name] ?? usual;
      const value = Math.min(high, Math.max(low, asked));
      return [name, Number.isInteger(usual) ? Math.round(value) : value];
    }),
  );
}
