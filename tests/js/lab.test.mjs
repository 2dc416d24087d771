import assert from "node:assert/strict";
import test from "node:test";
import { compared } from "../../assets/lab/agreement.js";
import { labLink, readLab, writeLab } from "../../assets/lab/link.js";
import { distances, lawOf } from "../../assets/lab/law.js";
import {
  addToken,
  FIRST,
  MOST,
  paramsOf,
  preset,
  PRESETS,
  presetOf,
  quantised,
  removeToken,
  setProb,
} from "../../assets/lab/state.js";
import { stepsOf } from "../../assets/lab/steps.js";
import { RULE_IDS, ruleOf } from "../../assets/lab/table.js";
import { addTexts, emptyTally, note, tested } from "../../assets/lab/tally.js";

const whole = (row) => row.reduce((sum, prob) => sum + Math.round(prob * 1e4), 0);

test("rows are whole ten-thousandths that sum to one", () => {
  for (const values of [[1, 1, 1], [0, 0], [5, 0, 1e-9], [0.1, 0.2, 0.3, 0.15, 0.25], Array(8).fill(1 / 8)]) {
    const row = quantised(values);
    assert.equal(whole(row), 10000, String(values));
    assert.ok(row.every((prob) => prob === Number(prob.toFixed(4)) && prob >= 0));
  }
  assert.deepEqual(quantised([1, 2]), [0.3333, 0.6667]);
});

test("a dragged bar scales the others, and a bar that comes back leaves them as they were", () => {
  const far = setProb(FIRST, "p", 0, 0.65);
  assert.deepEqual(far.p, [0.65, 0.25, 0.1]);
  assert.deepEqual(far.q, FIRST.q);
  assert.deepEqual(setProb(far, "p", 0, 0.3, FIRST.p).p, FIRST.p);
  assert.deepEqual(setProb(FIRST, "q", 1, 7).q, [0, 1, 0]);
  assert.deepEqual(setProb({ ...FIRST, q: [0, 1, 0] }, "q", 1, 0.5).q, [0.25, 0.5, 0.25]);
});

test("tokens come and go between two and eight, and the rows stay whole", () => {
  let lab = FIRST;
  for (let i = 0; i < 9; i += 1) lab = addToken(lab);
  assert.equal(lab.names.length, MOST);
  assert.equal(new Set(lab.names).size, MOST);
  for (let i = 0; i < 9; i += 1) lab = removeToken(lab, 0);
  assert.equal(lab.names.length, 2);
  assert.equal(whole(lab.p), 10000);
  assert.equal(lab.p.length, 2);
});

test("every preset is a pair of rows, is known again, and the last one breaks marginal tests", () => {
  for (const one of PRESETS) {
    assert.deepEqual([quantised(one.p), quantised(one.q)], [one.p, one.q], one.id);
    assert.equal(presetOf(preset(FIRST, one)).id, one.id);
  }
  const { p, q, k, rule } = preset(FIRST, PRESETS.at(-1));
  const tv = distances(lawOf(ruleOf(rule), p, q, k), p);
  assert.ok(tv.single < 1e-12 && tv.pair > 0.1, JSON.stringify(tv));
});

test("parameters stay within the engine's limits, whole ones whole", () => {
  const parameters = [
    { name: "top", default: 10, low: 1, high: 1000 },
    { name: "delta", default: 0.6, low: 0, high: 1 },
  ];
  assert.deepEqual(paramsOf({ parameters }), { top: 10, delta: 0.6 });
  assert.deepEqual(paramsOf({ parameters }, { top: 2.6, delta: 9, other: 1 }), { top: 3, delta: 1 });
});

test("a state survives its link", () => {
  const lab = {
    ...FIRST,
    names: ["a b", "c"],
    p: [0.25, 0.75],
    q: [0.5, 0.5],
    k: 4,
    rule: "fly",
    params: { window: 1, entropy: 0.2 },
    seed: 12,
    text: 3,
    stage: 2,
    rung: "rules",
    panel: "many",
  };
  const link = labLink(lab);
  assert.match(link, /^\?view=lab&p=0\.25,0\.75&q=0\.5,0\.5&/);
  assert.deepEqual(readLab(link), lab);
});

test("a link of a pair and a rule is enough", () => {
  const lab = readLab(labLink({ p: [1 / 3, 2 / 3], q: [2, 1], rule: "block", panel: "steps" }));
  assert.deepEqual(
    [lab.p, lab.q, lab.rule, lab.panel],
    [[0.3333, 0.6667], [0.6667, 0.3333], "block", "steps"],
  );
  assert.deepEqual(readLab(labLink()), FIRST);
});

test("nonsense in a link is the first look, and no link to the Lab is none", () => {
  const odd = "?view=lab&p=0.5,x&q=1&k=9&rule=<b>&params=x:y,__proto__:1,a:2&seed=-1&step=a.b&rung=z&panel=z";
  const lab = readLab(odd);
  assert.deepEqual({ ...lab, params: {} }, FIRST);
  assert.deepEqual(Object.keys(lab.params), ["a"]);
  assert.equal(readLab("?view=lab&rule=greedy-argmax").rule, "stochastic");
  assert.equal(readLab("?view=stats&p=0.5,0.5"), null);
  assert.ok(Object.values(writeLab(null)).every((value) => value === null));
});

const lab = (state, rule = ruleOf("stochastic")) => ({
  get: () => ({ ...FIRST, ...state }),
  rule: () => rule,
});

test("a round is shown as its drafts, its tests and what follows", () => {
  const steps = stepsOf(lab({ k: 3 }), new Map());
  const tests = steps.filter((step) => step.kind === "test");
  assert.equal(steps.filter((step) => step.kind === "draft").length, 3);
  assert.ok(tests.slice(0, -1).every((step) => step.answer));
  assert.equal(steps.at(-1).kind, "next");
  assert.equal(steps.at(-1).key, tests.at(-1).answer ? "bonus" : "refill");
  for (const step of steps.filter((one) => one.kind === "draft"))
    assert.equal(
      step.slices.find(({ low, high }) => step.fell >= low && step.fell < high).token,
      step.answer,
    );
});

test("a dart that is held elsewhere decides, and the coin still says where it fell", () => {
  const before = stepsOf(lab({}), new Map());
  const first = before.find((step) => step.key === "test 0");
  const u = first.answer ? 0.9999 : 0;
  const after = stepsOf(lab({ q: [0.6, 0.3, 0.1] }), new Map([["accept 0 0", u]]));
  const moved = after.find((step) => step.key === "test 0");
  assert.equal(moved.fell, first.fell);
  assert.notEqual(moved.answer, first.answer);
});

test("every rule can be stepped through, and its words name tokens and numbers", () => {
  const names = ["cat", "dog", "fox"];
  const params = { leniency: 0.5, weight: 0.5, epsilon: 0.3, delta: 0.1, single: 0.9, accumulated: 0.9 };
  const more = { top: 2, entropy: 0.3, window: 1, alpha: 0.5, rate: 0.7, decay: 0.9 };
  for (const id of RULE_IDS)
    for (let text = 0; text < 12; text += 1) {
      const steps = stepsOf(lab({ k: 3, text }, ruleOf(id, { ...params, ...more })), new Map());
      for (const step of steps) {
        const said = step.says(names);
        assert.ok(
          names.some((name) => said.includes(name)),
          `${id}: ${said}`,
        );
        assert.ok(!/undefined|NaN|null/.test(said + step.title), `${id}: ${said}`);
        const right = step.choices(names).filter(([, value]) => value === step.answer);
        assert.ok(step.choices(names).length === 0 || right.length === 1, `${id}: ${step.title}`);
      }
      assert.equal(steps.round.emitted.length, steps.round.verdict.n + 1);
    }
});

test("the engine's answer is compared number by number", () => {
  const law = {
    singles: [0.5, 0.5],
    pairs: [
      [0.25, 0.25],
      [0.25, 0.25],
    ],
  };
  const same = compared({ ...law, why: "" }, law);
  assert.deepEqual(same, { text: "The engine agrees, to the last bit.", off: false });
  const near = compared({ singles: [0.5, 0.5 + 2e-16], pairs: law.pairs, why: "" }, law);
  assert.match(near.text, /agrees, to 2\.2 × 10⁻¹⁶/);
  const kept = compared({ ...law, acceptance: 0.7, why: "" }, { ...law, acceptance: 0.6 });
  assert.ok(kept.off, kept.text);
  const off = compared(
    {
      singles: [0.5, 0.5],
      pairs: [
        [0.25, 0.25],
        [0.25, 0.26],
      ],
      why: "",
    },
    law,
  );
  assert.ok(off.off);
  assert.match(off.text, /something else: up to 0\.01/);
  assert.match(compared({ singles: null, pairs: null, why: "too much" }, law).text, /not asked: too much/);
  assert.match(
    compared({ singles: law.singles, pairs: null, why: "too much" }, law).text,
    /single tokens; for pairs/,
  );
});

test("a tally counts whatever the slices it was drawn in, and its track stays short", () => {
  const [all, parts] = [emptyTally(3), emptyTally(3)];
  const rule = ruleOf("stochastic");
  const state = { ...FIRST, k: 2 };
  addTexts(all, rule, state, 300);
  for (let i = 0; i < 300; i += 1) {
    addTexts(parts, rule, state, 1);
    note(parts, state.p);
  }
  assert.deepEqual([parts.n, parts.singles, parts.pairs], [300, all.singles, all.pairs]);
  assert.ok(parts.track.length <= 60 && parts.track.at(-1).n === 300);
  assert.equal(
    all.pairs.reduce((sum, count) => sum + count, 0),
    300,
  );
  assert.equal(tested(all, state.p).outside, 0);
  assert.ok(tested(all, [0, 0.8, 0.2]).outside > 0);
});
