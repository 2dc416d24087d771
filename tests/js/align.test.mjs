import assert from "node:assert/strict";
import test from "node:test";
import { columnsOf, firstDivergence, gapText, output, pieceOf, staves } from "../../assets/compare/align.js";
import { round } from "./rounds.mjs";

const ids = (tokens) => tokens.map((token) => token.id);
const lane = (list) => ({ tokens: list.map((id) => ({ id })), piece: String });

test("the output is the accepted drafts and what followed them, in order", () => {
  const tokens = output({ rounds: [round(0, "aru", { x: 10 }), round(1, "aa", { x: 20, next: null })] });
  assert.deepEqual(ids(tokens), [10, 90, 20, 21]);
  assert.deepEqual(tokens[1], { id: 90, fate: "corrected", round: 0, pos: 3 });
});

test("a branch's output begins with the tokens it was given", () => {
  const head = { forced: [7, 8], forced_pieces: { 7: " a", 8: " b" } };
  const session = { head, rounds: [round(0, "a", { x: 10 })], pieces: { 10: " c" } };
  const tokens = output(session);
  assert.deepEqual(ids(tokens), [7, 8, 10, 90]);
  assert.deepEqual(tokens[1], { id: 8, fate: "forced", round: null, pos: null });
  assert.deepEqual([pieceOf(session, 8), pieceOf(session, 10)], [" b", " c"]);
});

test("lanes part where both have a token and the tokens differ", () => {
  const tokens = (list) => lane(list).tokens;
  assert.equal(firstDivergence(tokens([1, 2, 3]), tokens([1, 2, 4])), 2);
  assert.equal(firstDivergence(tokens([1, 2]), tokens([1, 2, 4])), null);
  assert.equal(firstDivergence(tokens([]), tokens([1])), null);
});

test("without what is alike, each difference keeps its neighbours and nothing is lost", () => {
  const a = lane([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const b = lane([1, 2, 3, 4, 0, 6, 7]);
  const columns = columnsOf([a, b], true);
  assert.deepEqual(columns, [{ from: 0, to: 3 }, { at: 3 }, { at: 4 }, { at: 5 }, { from: 6, to: 9 }]);
  assert.equal(gapText(6, 9), "3 alike");
  assert.equal(columnsOf([a, b]).length, 9);
  assert.deepEqual(columnsOf([a, a], true), [{ from: 0, to: 9 }]);
  assert.deepEqual(columnsOf([], true), []);
});

const random = (seed) => () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};

test("the columns of any lanes cover every position once", () => {
  const next = random(5);
  for (let n = 0; n < 200; n += 1) {
    const some = () => lane(Array.from({ length: Math.floor(12 * next()) }, () => Math.floor(2 * next())));
    const lanes = [some(), some(), some()];
    const covered = columnsOf(lanes, true).flatMap(({ at, from, to }) =>
      at === undefined ? Array.from({ length: to - from }, (_, i) => from + i) : [at],
    );
    const length = Math.max(...lanes.map(({ tokens }) => tokens.length));
    assert.deepEqual(
      covered,
      Array.from({ length }, (_, i) => i),
    );
  }
});

test("staves hold every column once, in order, and fit the width", () => {
  const texts = Array.from({ length: 40 }, (_, id) => "x".repeat(1 + (id % 7)));
  const one = { tokens: texts.map((_, id) => ({ id })), piece: (id) => texts[id] };
  const lanes = [one, { ...one, tokens: one.tokens.slice(0, 12) }];
  const found = staves(lanes, 30, columnsOf(lanes), 1);
  assert.deepEqual(found.flat(), columnsOf(lanes));
  for (const stave of found) {
    const width = stave.reduce((sum, { at }) => sum + texts[at].length + 1, 0);
    assert.ok(width <= 30 || stave.length === 1);
  }
});

test("a token wider than the screen still gets a stave", () => {
  const wide = { tokens: [{ id: 0 }, { id: 1 }], piece: (id) => ["x".repeat(99), "y"][id] };
  assert.deepEqual(staves([wide], 5, columnsOf([wide])), [[{ at: 0 }], [{ at: 1 }]]);
});
