// The session's own rule in the matrix: with its parameters, or from a file.

import assert from "node:assert/strict";
import test from "node:test";
import { asItRan, grouped, withOwn } from "../../assets/inspect/matrix.js";

const lenient = { id: "lenient", lossless: false, parameters: [{ name: "leniency", default: 0.5 }] };
const line = (rule, ...more) => [rule, 1, 9, 0.1, ...more];

test("a rule from a file takes its place among the others", () => {
  const head = { rule: "mine@0123456789ab", rule_title: "Mine", faulty: false, lossless: false };
  const rules = withOwn([lenient], head);
  assert.deepEqual(
    rules.map((rule) => rule.id),
    ["lenient", "mine@0123456789ab"],
  );
  const [group] = grouped({ matrix: [line("lenient"), line("mine@0123456789ab")] }, rules, null);
  assert.deepEqual(
    group.rows.map(({ rule }) => rule.title ?? rule.id),
    ["lenient", "Mine"],
  );
  assert.deepEqual(withOwn([lenient], { rule: "lenient" }), [lenient]);
  assert.deepEqual(withOwn([lenient], null), [lenient]);
});

test("a line is the session's own only with the session's own parameters", () => {
  const head = { rule: "lenient", params: { leniency: 0.7 } };
  assert.equal(asItRan(line("lenient", { leniency: 0.7 }), lenient, head), true);
  assert.equal(asItRan(line("lenient"), lenient, head), false);
  assert.equal(asItRan(line("lenient"), lenient, { rule: "lenient", params: { leniency: 0.5 } }), true);
  assert.equal(asItRan(line("mine@0"), { id: "mine@0" }, { rule: "mine@0", params: { a: 2 } }), true);
});
