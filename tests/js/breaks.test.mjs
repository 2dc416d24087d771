import assert from "node:assert/strict";
import test from "node:test";
import { BREAKS, breakPlaces, isNear, placesIn } from "../../assets/time/breaks.js";
import { draft, round } from "./rounds.mjs";

const around = {
  rules: [],
  own: "stochastic",
  divergences: [],
  pieces: { 10: " the", 11: "\n", 90: { special: "<end>" } },
};
const on = (id, value, more = {}) => ({
  on: [id],
  values: value === undefined ? {} : { [id]: value },
  all: false,
  ...more,
});
const found = (breaks, one, more = {}) =>
  placesIn(breaks, one, { ...around, ...more }).map((place) => place.pos);
const only = (position, more = {}) => ({ ...round(0, "a"), ...more, positions: [position] });

test("rejections and full rounds are found where they stand", () => {
  assert.deepEqual(found(on("rejection"), round(0, "aru")), [1]);
  assert.deepEqual(found(on("rejection"), round(0, "aa")), []);
  assert.deepEqual(found(on("accepted"), round(0, "aa")), [2]);
  assert.deepEqual(found(on("accepted"), round(0, "aa", { next: null })), [1]);
  assert.deepEqual(found(on("accepted"), round(0, "")), []);
});

test("a near miss is near on either side, and needs a coin", () => {
  const at = (u, accept_prob) => draft("accepted", 10, { u, accept_prob });
  assert.equal(isNear(at(0.51, 0.5), 0.02), true);
  assert.equal(isNear(at(0.49, 0.5), 0.02), true);
  assert.equal(isNear(at(0.53, 0.5), 0.02), false);
  assert.equal(isNear(at(null, 0.5), 0.02), false);
  assert.deepEqual(found(on("near", 0.3), round(0, "ar")), [0, 1]);
  assert.deepEqual(found(on("near", 0.1), round(0, "ar")), []);
});

test("numbers are compared with the one that was chosen, and untested drafts are left out", () => {
  assert.deepEqual(found(on("ratio", 0.6), round(0, "aru")), [0, 1]);
  assert.deepEqual(found(on("ratio", 0.5), round(0, "aru")), []);
  assert.deepEqual(found(on("ratio", 0.5), only(draft("rejected", 10, { q: 0 }))), []);
  assert.deepEqual(found(on("tv", 0.3), only(draft("accepted", 10, { tv: 0.31 }))), [0]);
  assert.deepEqual(found(on("tv", 0.31), only(draft("accepted", 10, { tv: 0.31 }))), []);
  assert.deepEqual(found(on("entropy", 1), only(draft("untested", 10, { entropy: [2, 1] }))), []);
  assert.deepEqual(found(on("entropy", 1), only(draft("accepted", 10, { entropy: [2, 1] }))), [0]);
});

test("a residual's mass and a degenerate residual belong to the rejected draft", () => {
  const one = round(0, "ar");
  one.next.residual = { mass: 0.6, degenerate: false };
  assert.deepEqual(found(on("mass", 0.5), one), [1]);
  assert.deepEqual(found(on("mass", 0.6), one), []);
  assert.deepEqual(found(on("degenerate"), one), []);
  one.next.residual.degenerate = true;
  assert.deepEqual(found(on("degenerate"), one), [1]);
});

test("the tops differ when another token is the most probable, ties by the lowest id", () => {
  const bars = (list) => only(draft("accepted", 10, { bars: list }));
  assert.deepEqual(
    found(
      on("tops"),
      bars([
        [1, 0.5, 0.2],
        [2, 0.3, 0.7],
      ]),
    ),
    [0],
  );
  assert.deepEqual(
    found(
      on("tops"),
      bars([
        [1, 0.5, 0.6],
        [2, 0.3, 0.2],
      ]),
    ),
    [],
  );
  assert.deepEqual(
    found(
      on("tops"),
      bars([
        [2, 0.5, 0.5],
        [1, 0.5, 0.5],
      ]),
    ),
    [],
  );
});

test("text is met in emitted tokens, plain in any case, or as a /regex/; a broken one meets nothing", () => {
  const one = round(0, "ar");
  assert.deepEqual(found(on("text", "THE"), one), [0]);
  assert.deepEqual(found(on("text", "/^ t/"), one), [0]);
  assert.deepEqual(found(on("text", "/^t/"), one), []);
  assert.deepEqual(found(on("text", "/(/"), one), []);
  assert.deepEqual(found(on("text", ""), one), []);
  assert.deepEqual(found(on("text", "end"), one), [2], "the token that follows is emitted too");
});

test("special tokens, rescued drafts and divergences", () => {
  assert.deepEqual(found(on("special"), round(0, "aa")), [2]);
  assert.deepEqual(found(on("rescued"), only(draft("accepted", 10, { rescued: true }))), [0]);
  assert.deepEqual(found(on("divergence"), round(4, "aa"), { divergences: [{ round: 4, pos: 1 }] }), [1]);
  assert.deepEqual(found(on("divergence"), round(5, "aa"), { divergences: [{ round: 4, pos: 1 }] }), []);
});

test("rules disagree by number, without those that draft otherwise", () => {
  const matrix = [
    ["stochastic", 1, 5, 0],
    ["lenient", 2, 6, 0.1],
    ["argmax", 0, 7, 0.2],
    ["gumbel", 2, 9, 0],
  ];
  const rules = ["stochastic", "lenient", "argmax"]
    .map((id) => ({ id }))
    .concat({ id: "gumbel", drafts_otherwise: true });
  const one = { ...round(0, "aru"), matrix };
  assert.deepEqual(found(on("disagree", 2), one, { rules }), [3]);
  assert.deepEqual(found(on("disagree", 3), one, { rules }), []);
});

test("conditions combine: any of them, or all at one place", () => {
  const both = { on: ["rejection", "tv"], values: { tv: 0.1 }, all: true };
  const one = round(0, "ar");
  one.positions.forEach((position, i) => (position.tv = [0.2, 0.05][i]));
  assert.deepEqual(found(both, one), []);
  assert.deepEqual(found({ ...both, all: false }, one), [0, 1]);
  one.positions[1].tv = 0.2;
  assert.deepEqual(found(both, one), [1]);
  assert.deepEqual(found({ on: [], values: {}, all: false }, one), []);
});

test("new rounds are looked at once, a changed condition looks at all again", () => {
  const places = breakPlaces();
  const session = { id: 1, rounds: [round(0, "ar")], pieces: {} };
  let looks = 0;
  const counting = { ...BREAKS.rejection };
  BREAKS.rejection = { ...counting, test: (at) => ((looks += 1), counting.test(at)) };
  assert.equal(places(session, on("rejection"), around).length, 1);
  const first = looks;
  session.rounds.push(round(1, "ar"));
  assert.equal(places(session, on("rejection"), around).length, 2);
  assert.equal(looks - first, first, "only the new round");
  assert.equal(places(session, on("accepted"), around).length, 0);
  BREAKS.rejection = counting;
});

test("every breakpoint has words, and a number's default lies within its limits", () => {
  for (const one of Object.values(BREAKS)) {
    assert.ok(one.title && one.says);
    if (one.value && !one.value.text) assert.ok(one.value.default >= 0 && one.value.default <= one.value.max);
  }
  assert.equal(Object.keys(BREAKS).length, 14);
});
