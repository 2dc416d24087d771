import assert from "node:assert/strict";
import test from "node:test";
import { sentences } from "../../assets/stats/exactness_view.js";
import { coloured, dressed } from "../../assets/stats/figures.js";
import { bytes } from "../../assets/parts/format.js";
import { CARDS, leadText } from "../../assets/stats/stats_view.js";

const share = (part, whole) => ({
  part,
  whole,
  rate: whole ? part / whole : null,
  low: whole ? 0.1 : null,
  high: whole ? 0.9 : null,
});
const stats = {
  rule: "stochastic",
  closed_form: "sum min(p, q)",
  rounds: 10,
  emitted: 31,
  proposed: 40,
  measured: share(21, 30),
  by_depth: [
    { depth: 1, drafted: 10, ...share(8, 10) },
    { depth: 2, drafted: 10, ...share(0, 0) },
  ],
  lengths: [
    { accepted: 0, ...share(2, 10) },
    { accepted: 4, ...share(8, 10) },
  ],
  by_entropy: [{ from: 0.1, to: 0.4, mean: 0.2, sum_min: 0.8, ...share(8, 10) }],
  correlation: { r: -0.31, low: -0.44, high: -0.15, n: 30 },
  closed_forms: [
    { name: "sum p q", expected: null },
    { name: "sum min(p, q)", expected: 0.7, low: 0.6, high: 0.8, p_value: 0.4, accepted: 21, tested: 30 },
  ],
  pace: [
    { from: 0, to: 4, emitted: 16, passes: 5, per_pass: 3.2, ms: 100, per_second: 160 },
    { from: 5, to: 5, emitted: 15, passes: 5, per_pass: 3, ms: 0, per_second: null },
  ],
  stages: [
    { stage: "draft", ms: 40, share: 0.4, median: 4 },
    { stage: "matrix", ms: 60, share: 0.6, median: 6 },
  ],
};

test("no rate stands without its denominator", () => {
  assert.match(leadText(stats), /21 of 30 tested drafts accepted \(70\.0\s%\)/);
  for (const name of ["depth", "lengths", "entropy"]) {
    const { columns, rows } = CARDS[name];
    for (const line of rows(stats)) assert.equal(line.length, columns.length, name);
    assert.ok(
      rows(stats).every((line) => line.includes(10) || line.includes(0)),
      name,
    );
  }
  assert.match(CARDS.passes.facts(stats), /31 tokens \/ 10 passes/);
  assert.match(CARDS.speed.facts(stats), /31 tokens in 100 ms/);
  assert.match(CARDS.entropy.facts(stats), /of 30 tested drafts/);
});

test("every table has as many cells as columns", () => {
  for (const [name, { columns, rows }] of Object.entries(CARDS)) {
    assert.ok(rows(stats).length > 0, name);
    for (const line of rows(stats)) assert.equal(line.length, columns.length, name);
  }
});

test("what was not measured is a dash or no line, never a zero", () => {
  assert.deepEqual(CARDS.depth.rows(stats)[1], [2, 10, 0, 0, "–", "–"]);
  assert.equal(CARDS.closed.rows(stats).length, 1);
  assert.equal(CARDS.speed.rows(stats).length, 1);
  const untimed = { ...stats, stages: stats.stages.map((one) => ({ ...one, ms: 0 })) };
  assert.deepEqual(CARDS.stages.rows(untimed), []);
  const none = { ...stats, correlation: { r: null, low: null, high: null, n: 2 } };
  assert.match(CARDS.entropy.facts(none), /no correlation to tell, of 2/);
});

test("a named colour becomes what the theme says, everywhere in a figure", () => {
  const look = (name) => `<${name}>`;
  const figure = {
    data: [{ marker: { color: "var(--accepted)", pattern: { shape: "/" } }, x: [1, null], text: ["var"] }],
  };
  assert.deepEqual(coloured(figure, look), {
    data: [{ marker: { color: "<--accepted>", pattern: { shape: "/" } }, x: [1, null], text: ["var"] }],
  });
});

test("a layout keeps its own axes and gets our paper, and the same revision keeps a zoom", () => {
  const layout = { xaxis: { range: [0, 1], title: { text: "depth" } }, barmode: "stack" };
  const found = dressed(layout, (name) => name, 41);
  assert.equal(found.uirevision, 41);
  assert.equal(found.barmode, "stack");
  assert.deepEqual(found.xaxis.range, [0, 1]);
  assert.equal(found.xaxis.title.text, "depth");
  assert.match(found.paper_bgcolor, /,0\)$/);
});

test("bytes are said in the unit that fits", () => {
  assert.deepEqual([0, 999, 1500, 45_000, 6_900_000, 2_400_000_000].map(bytes), [
    "0 B",
    "999 B",
    "1.5 kB",
    "45 kB",
    "6.9 MB",
    "2.4 GB",
  ]);
});

const test_of = (fails, p = 0.3, dof = 7) => ({
  fails,
  p_value: p,
  dof,
  cells: 8,
  merged_mass: 0.01,
  statistic: 6,
});
const finding = (more = {}) => ({
  samples: 4000,
  result: {
    first_tokens: test_of(false),
    pairs: test_of(false, 0.02, 30),
    acceptance: {
      accepted: 70,
      positions_tested: 100,
      per_position_acceptance: 0.7,
      expected: 0.72,
      p_value: 0.6,
      basis: "the closed form at every tested position",
      fails: false,
    },
    violations: [],
    run_again: { same: 8, of: 8 },
    alpha: 1e-4,
    ...more,
  },
});

test("a verification is told in sentences with its numbers", () => {
  const text = sentences(finding()).join(" ");
  assert.match(text, /first tokens follow the target/);
  assert.match(text, /pairs follow the target: a right rule deviates this much or more 2\.00\s% of the time/);
  assert.match(text, /No token came from outside/);
  assert.match(text, /70 of 100 tested drafts accepted \(70\.0\s%\).*expects 72\.0\s%: fits/);
  assert.match(text, /once in 10 000; there were 4000 samples/);
});

test("a failing verification says what fails", () => {
  const text = sentences(
    finding({ pairs: test_of(true, 1e-9), violations: [{ times: 2 }, { times: 1 }] }),
  ).join(" ");
  assert.match(text, /pairs do not follow the target: .* with probability 1\.0 × 10⁻⁹/);
  assert.match(text, /3 tokens came where the target gives no mass/);
});

test("what could not be tested is said, not passed", () => {
  const acceptance = { p_value: null, basis: "none: nothing was drafted", fails: false };
  const text = sentences(finding({ acceptance, first_tokens: test_of(false, 1, 0) })).join(" ");
  assert.match(text, /one outcome among the first tokens: nothing to test/);
  assert.match(text, /Acceptance was not tested: none: nothing was drafted/);
});
