import assert from "node:assert/strict";
import test from "node:test";
import { canSuppose, residualOf, suppose, supposedFates } from "../../assets/inspect/hypothesis.js";
import { draft, round, words } from "./rounds.mjs";

// cat, dog, fox: p = (.3, .5, .2), q = (.6, .3, .1), TV .3.
const foxes = (x, fate, u, more = {}) => {
  const [p, q] = [[0.3, 0.5, 0.2][x], [0.6, 0.3, 0.1][x]];
  return draft(fate, x, {
    p,
    q,
    u,
    accept_prob: Math.min(1, p / q),
    passed: u < Math.min(1, p / q),
    tv: 0.3,
    bars: [
      [0, 0.3, 0.6],
      [1, 0.5, 0.3],
      [2, 0.2, 0.1],
    ],
    rest: [0, 0, 0],
    ...more,
  });
};
const of = (positions, fates, more = {}) => ({
  ...round(0, fates),
  positions,
  beyond: { token: 77 },
  ...more,
});
const near = (actual, expected) =>
  actual.forEach(([token, prob], i) => {
    assert.equal(token, expected[i][0]);
    assert.ok(Math.abs(prob - expected[i][1]) < 1e-12, `${token}: ${prob} is not ${expected[i][1]}`);
  });

test("the residual of cat, dog, fox is (0, 2/3, 1/3), its mass the TV", () => {
  const residual = residualOf(foxes(0, "accepted", 0.2), "stochastic");
  assert.equal(residual.mass, 0.3);
  near(residual.top, [
    [1, 2 / 3],
    [2, 1 / 3],
  ]);
  assert.ok(residual.rest < 1e-12);
});

test("each rule refills from its own row", () => {
  near(residualOf(foxes(0, "accepted", 0.2), "one-hot").top, [
    [1, 5 / 7],
    [2, 2 / 7],
  ]);
  assert.equal(residualOf(foxes(0, "accepted", 0.2), "one-hot").mass, 0.7);
  near(residualOf(foxes(0, "accepted", 0.2), "fault-residual-from-p").top, [
    [1, 0.5],
    [0, 0.3],
    [2, 0.2],
  ]);
  near(residualOf(foxes(0, "accepted", 0.2), "fault-one-token-residual").top, [
    [1, 5 / 7],
    [2, 2 / 7],
  ]);
  near(residualOf(foxes(0, "accepted", 0.2), "lenient", { leniency: 0.5 }).top, [
    [1, 0.7],
    [2, 0.3],
  ]);
  assert.equal(residualOf(foxes(0, "accepted", 0.2), "a-rule-of-tomorrow"), null);
  assert.equal(residualOf(foxes(0, "accepted", 0.2, { q: null }), "stochastic"), null);
  const cut = foxes(0, "accepted", 0.2, { rest: [0.1, 0.1, 40] });
  assert.equal(
    residualOf(cut, "lenient", { leniency: 0.5 }),
    null,
    "a mass that cannot be known is not invented",
  );
  assert.equal(residualOf(foxes(0, "accepted", 0.2, { tv: 0 }), "stochastic").degenerate, true);
});

test("a coin moved on its own side changes nothing", () => {
  const one = of([foxes(0, "rejected", 0.9)], "r");
  const outcome = suppose(one, 0, "stochastic", 0.7);
  assert.equal(outcome.same, true);
  assert.match(words(outcome.said), /rejected all the same/);
  assert.deepEqual(supposedFates(one, 0, outcome), ["rejected"]);
  assert.equal(suppose(one, 0, "stochastic", 0.5).passed, false, "the comparison is strict");
});

test("a rejected draft that stands: the last one brings the bonus, another an unknown", () => {
  const last = of([foxes(0, "rejected", 0.9)], "r");
  const outcome = suppose(last, 0, "stochastic", 0.1);
  assert.equal(outcome.n, 1);
  assert.deepEqual(outcome.next, { token: 77 });
  assert.match(words(outcome.said), /<0> would stand.*the target's own draw there was <77>/);
  const middle = of([foxes(0, "rejected", 0.9), draft("untested", 2)], "ru");
  const open = suppose(middle, 0, "stochastic", 0.1);
  assert.equal(open.n, null);
  assert.match(words(open.said), /next draft, <2>.*p\/q = 0\.5.*never tossed/);
  assert.deepEqual(supposedFates(middle, 0, open), ["accepted", null]);
});

test("an accepted draft that falls: what stood behind it is dropped, its refill is a law and no token", () => {
  const one = of([foxes(0, "accepted", 0.2), foxes(1, "accepted", 0.2)], "aa");
  const outcome = suppose(one, 0, "stochastic", 0.8);
  assert.equal(outcome.n, 0);
  assert.match(words(outcome.said), /<0> would be rejected, and 1 that stood behind it dropped/);
  assert.equal(outcome.next, null);
  assert.equal(outcome.residual.top[0][0], 1);
  assert.deepEqual(supposedFates(one, 0, outcome), ["rejected", "untested"]);
});

test("where the target's own draw refills, it is known", () => {
  const one = of([foxes(0, "accepted", 0.2, { own: { token: 2, u: 0.9, slice: null } })], "a");
  for (const rule of ["synthetic", "fault-string-match"]) {
    const outcome = suppose(one, 0, rule, 0.8);
    assert.equal(outcome.next.token, 2);
    assert.equal(outcome.residual, null);
  }
});

test("block verification: all its tests are known, so the longest prefix is", () => {
  const three = of(
    [0, 1, 2].map((i) => draft("accepted", i, { accept_prob: 0.5, u: [0.9, 0.2, 0.9][i], passed: i === 1 })),
    "aar",
  );
  const longer = suppose(three, 2, "block", 0.1);
  assert.deepEqual([longer.n, longer.same], [3, false]);
  assert.deepEqual(longer.next, { token: 77 });
  const carried = suppose(three, 0, "block", 0.1);
  assert.deepEqual([carried.n, carried.same], [2, true], "a longer prefix stands anyway");
  const none = suppose(three, 1, "block", 0.7);
  assert.equal(none.n, 0);
  assert.match(words(none.said), /would be 0 of 3/);
});

test("one coin for the block moves every draft", () => {
  const two = of([foxes(0, "accepted", 0.2), foxes(0, "accepted", 0.2)], "aa");
  const outcome = suppose(two, 1, "fault-shared-coin", 0.6);
  assert.equal(outcome.n, 0, "the first draft meets the same coin");
  assert.equal(suppose(two, 1, "fault-shared-coin", 0.4).same, true);
});

test("FLy may forgive, and that is said", () => {
  const one = of([foxes(0, "accepted", 0.2), foxes(1, "accepted", 0.2)], "aa");
  const outcome = suppose(one, 0, "fly", 0.8);
  assert.equal(outcome.n, null);
  assert.match(words(outcome.said), /may forgive/);
});

test("rules without a coin say why there is nothing to drag", () => {
  assert.equal(canSuppose(foxes(0, "accepted", 0.2), "stochastic").can, true);
  const coinless = foxes(0, "accepted", null);
  assert.match(canSuppose(coinless, "gumbel").why, /same noise/);
  assert.match(canSuppose(coinless, "sampler-match").why, /own draw decides/);
  assert.match(canSuppose(coinless, "typical").why, /no coin here/);
  assert.match(canSuppose(draft("untested"), "stochastic").why, /never tested/);
  assert.equal(canSuppose(null, "stochastic").can, false);
});
