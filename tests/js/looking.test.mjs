import assert from "node:assert/strict";
import test from "node:test";
import { target } from "../../assets/parts/commands.js";
import { answer, search } from "../../assets/time/find.js";
import { readLook, writeLook } from "../../assets/source/look.js";
import { countMatrix, dissenters, fatesUnder, grouped, kindOf, meanTv } from "../../assets/inspect/matrix.js";
import { levelOf, levelText, MODES, valueText } from "../../assets/inspect/modes.js";
import { before, emitted, heldAt, nearest, placeAt } from "../../assets/time/places.js";
import { initial, reduce } from "../../assets/source/store.js";
import { draft, round } from "./rounds.mjs";

test("a level is a band of the number, and a missing number has none", () => {
  assert.equal(levelOf("surprise", { p: 1 }), 0);
  assert.equal(levelOf("surprise", { p: 0.5 }), 1);
  assert.equal(levelOf("surprise", { p: 0.001 }), 4);
  assert.equal(levelOf("surprise", { p: 0 }), 4);
  assert.equal(valueText("surprise", { p: 0 }), "∞");
  assert.equal(levelOf("surprise", { p: null }), null);
  assert.equal(levelOf("tv", { token: 3, p: 0.2 }), null, "a bonus has no q");
  assert.equal(levelOf("acceptance", draft("untested")), null);
  assert.equal(levelOf("acceptance", draft("accepted")), 2);
  assert.equal(levelOf("fate", draft("accepted")), null);
  assert.equal(levelText("entropy", 0), "under 0.1");
  assert.equal(levelText("entropy", 2), "0.5 – 1");
  assert.equal(levelText("entropy", 4), "2 and more");
  for (const mode of Object.values(MODES))
    assert.ok(mode.title && mode.says && (!mode.edges || mode.edges.length === 4));
});

test("a corrected token is as uncertain as the row it was drawn in", () => {
  const one = round(0, "ar");
  one.positions[1].entropy = [1.5, 1];
  assert.deepEqual(heldAt(one, 2).entropy, [1.5, 1]);
  assert.equal(heldAt(one, 0).x, 10);
});

test("places are in reading order, and the nearest one is strictly beyond", () => {
  const places = [
    { round: 0, pos: 1 },
    { round: 2, pos: 0 },
    { round: 2, pos: 3 },
  ];
  assert.deepEqual(nearest(places, { round: 0, pos: 1 }, 1), { round: 2, pos: 0 });
  assert.deepEqual(nearest(places, { round: 2, pos: 0 }, -1), { round: 0, pos: 1 });
  assert.equal(nearest(places, { round: 2, pos: 3 }, 1), null);
  assert.equal(nearest(places, { round: 0, pos: 1 }, -1), null);
  assert.equal(before({ round: 1, pos: 5 }, { round: 2, pos: 0 }), true);
});

// Rounds whose starts follow from what was emitted.
function session(fates, pieces = {}) {
  let start = 0;
  const rounds = fates.map((text, i) => {
    const one = { ...round(i, text), start };
    start += one.emitted;
    return one;
  });
  return { id: 1, rounds, n: rounds.length, pieces };
}

test("go-to knows output positions, rounds and drafts", () => {
  const one = session(["ar", "aa", "r"]);
  assert.deepEqual(target(one, "0"), { round: 0, pos: 0 });
  assert.deepEqual(target(one, "1"), { round: 0, pos: 2 });
  assert.deepEqual(target(one, "4"), { round: 1, pos: 2 });
  assert.deepEqual(target(one, "5"), { round: 2, pos: 1 });
  assert.equal(target(one, "6"), null);
  assert.deepEqual(target(one, "r1"), { round: 1, pos: -1 });
  assert.deepEqual(target(one, "R1.1"), { round: 1, pos: 1 });
  assert.equal(target(one, "r9"), null);
  assert.equal(target(one, "-1"), null);
  assert.equal(target(one, "cat"), null);
  assert.equal(placeAt({ rounds: [] }, 0), null);
});

test("text is found across tokens, by index, and bytes make characters", () => {
  const pieces = { 10: " the", 11: " cat", 90: " sat", 91: { hex: "e2 80" }, 20: { hex: "94" }, 92: "!" };
  const one = session(["aa", "r", "r"], pieces);
  one.rounds[2].positions[0].x = 20;
  assert.deepEqual(
    emitted(one.rounds).map((token) => token.id),
    [10, 11, 90, 91, 92],
  );
  assert.equal(answer(one).text, " the cat sat\ufffd!", "half a character is none");
  assert.deepEqual(search(one, "CAT SAT").places, [{ round: 0, pos: 1 }]);
  assert.deepEqual(search(one, "cat sat").covered, [
    { round: 0, pos: 1 },
    { round: 0, pos: 2 },
  ]);
  assert.deepEqual(search(one, "/at/").places, [
    { round: 0, pos: 1 },
    { round: 0, pos: 2 },
  ]);
  assert.match(search(one, "/(/").error, /no regular expression/);
  assert.deepEqual(search(one, "").places, []);
  assert.deepEqual(search(one, ".*").places, [], "plain text is no pattern");
  const whole = session(["aa"], { 10: { hex: "e2 80" }, 11: { hex: "94" }, 90: "x" });
  assert.equal(answer(whole).text, "—x");
  assert.deepEqual(search(whole, "—").places, [{ round: 0, pos: 0 }]);
  assert.deepEqual(search(whole, "x").places, [{ round: 0, pos: 2 }]);
});

test("a look survives its link, and the first look needs no words", () => {
  assert.deepEqual(
    Object.values(writeLook(initial)).filter((value) => value !== null),
    [],
  );
  const looked = {
    ...initial,
    pane: "laws",
    find: "/a b/",
    tables: true,
    options: { mode: "tv", bars: 16, log: true, drops: false },
    breaks: { on: ["rejection", "tv", "text"], values: { tv: 0.4, text: "a,b:c" }, all: true, pause: true },
  };
  const query = new URLSearchParams(Object.entries(writeLook(looked)).filter(([, value]) => value !== null));
  const state = reduce(initial, { type: "look", look: readLook(`?${query}`) });
  for (const name of ["pane", "find", "tables", "options", "breaks"])
    assert.deepEqual(state[name], looked[name], name);
  const none = { ...initial, breaks: { ...initial.breaks, on: [] } };
  assert.equal(writeLook(none).brk, "");
  assert.deepEqual(readLook("?brk=").breaks.on, []);
});

test("nonsense in a look is the first look", () => {
  const look = readLook("?pane=x&mode=<b>&rows=9&brk=foo,tv:abc,near:-1,mass:1e9");
  assert.deepEqual(look.values.pane, "bars");
  assert.deepEqual(look.options, { mode: "fate", bars: 8, log: false, drops: true });
  assert.deepEqual(look.breaks, { on: ["tv", "near", "mass"], values: {}, all: false, pause: false });
});

const RULES = [
  { id: "stochastic", lossless: true },
  { id: "greedy-argmax", lossless: true, greedy_only: true },
  { id: "lenient" },
  { id: "fault-x", faulty: true },
  { id: "gumbel", lossless: true, drafts_otherwise: true },
];

test("the matrix adds up over rounds, with its denominators", () => {
  const one = {
    ...round(0, "aar"),
    matrix: [
      ["stochastic", 2, 5, 0],
      ["lenient", 3, null, 0.3],
      ["block", 1, 4, null],
    ],
  };
  const totals = [one, one].reduce(countMatrix, null);
  assert.deepEqual(totals.stochastic, { rounds: 2, accepted: 4, tested: 6, emitted: 6, tv: 0, measured: 6 });
  assert.equal(totals.lenient.emitted, 6, "an ended output adds no token");
  assert.equal(totals.lenient.tested, 6, "nothing is tested behind the block");
  assert.ok(Math.abs(meanTv(totals.lenient) - 0.1) < 1e-12);
  assert.equal(meanTv(totals.block), null);
  assert.equal(countMatrix(totals, round(1, "a")), totals, "a round without a matrix changes nothing");
});

test("rules are grouped by what they are at this temperature", () => {
  const one = { ...round(0, "a"), matrix: RULES.map((rule) => [rule.id, 1, 5, 0]) };
  const ids = (greedy) =>
    grouped(one, RULES, null, greedy).map(({ kind, rows }) => [kind, ...rows.map((row) => row.rule.id)]);
  assert.deepEqual(ids(false), [
    ["lossless", "stochastic", "gumbel"],
    ["biased", "greedy-argmax", "lenient"],
    ["faulty", "fault-x"],
  ]);
  assert.equal(kindOf(RULES[1], true), "lossless");
});

test("who leaves the round with another outcome", () => {
  const matrix = [
    ["stochastic", 1, 5, 0],
    ["lenient", 1, 6, 0],
    ["fault-x", 1, 5, 0],
    ["gumbel", 0, 9, 0],
    ["greedy-argmax", 0, 1, 0],
  ];
  assert.deepEqual(dissenters({ matrix }, RULES, "stochastic"), ["lenient"]);
  assert.deepEqual(dissenters({ matrix }, RULES, "a-rule-of-tomorrow"), []);
  assert.deepEqual(fatesUnder(1, 3), ["accepted", "rejected", "untested"]);
});

test("a move of the cursor puts a dragged coin back and leaves slow motion", () => {
  const rounds = [round(0, "ar"), round(1, "ar")];
  let state = reduce(reduce(initial, { type: "focus", s: 1 }), {
    type: "delta",
    s: 1,
    n: 2,
    lo: 0,
    rounds,
    pieces: {},
  });
  state = reduce(state, { type: "cursor", round: 0, pos: 1, stage: 3 });
  state = reduce(state, { type: "suppose", u: 0.2 });
  assert.deepEqual([state.stage, state.suppose, state.follow], [3, 0.2, false]);
  state = reduce(state, { type: "cursor", round: 1, pos: 0 });
  assert.deepEqual([state.stage, state.suppose], [null, null]);
});

test("a link's sub-step and held coin wait for their round, and are dropped where they do not fit", () => {
  const rounds = [round(0, "ar")];
  const asked = (cursor) =>
    reduce(reduce(initial, { type: "focus", s: 1, cursor }), {
      type: "delta",
      s: 1,
      n: 1,
      lo: 0,
      rounds: [...rounds],
      pieces: {},
    });
  const fits = asked({ round: 0, pos: 1, stage: 4, suppose: 0.25 });
  assert.deepEqual([fits.stage, fits.suppose], [4, 0.25]);
  const not = asked({ round: 0, pos: 2, stage: 40, suppose: 0.25 });
  assert.deepEqual([not.stage, not.suppose], [null, null], "the token that follows has no accept coin");
});
