import assert from "node:assert/strict";
import test from "node:test";
import { firstDivergence, firstUnlike, output, staves } from "../../assets/align.js";
import { round } from "./rounds.mjs";

const ids = (tokens) => tokens.map((token) => token.id);

test("the output is the accepted drafts and what followed them, in order", () => {
  const tokens = output({ rounds: [round(0, "aru", { x: 10 }), round(1, "aa", { x: 20, next: null })] });
  assert.deepEqual(ids(tokens), [10, 90, 20, 21]);
  assert.deepEqual(tokens[1], { id: 90, fate: "corrected", round: 0, pos: 3 });
});

test("lanes part where both have a token and the tokens differ", () => {
  const lane = (list) => list.map((id) => ({ id }));
  assert.equal(firstDivergence(lane([1, 2, 3]), lane([1, 2, 4])), 2);
  assert.equal(firstDivergence(lane([1, 2]), lane([1, 2, 4])), null);
  assert.equal(firstDivergence(lane([]), lane([1])), null);
});

test("the same tokens with another coin are not a reproduction", () => {
  const a = { rounds: [round(0, "ar"), round(1, "aa")] };
  const b = structuredClone(a);
  assert.equal(firstUnlike(a, b), null);
  b.rounds[1].positions[0].u = 0.25;
  assert.equal(firstUnlike(a, b), 1);
});

test("staves cover every position once and fit the width", () => {
  const tokens = Array.from({ length: 40 }, (_, id) => ({ id }));
  const pieces = Object.fromEntries(tokens.map(({ id }) => [id, "x".repeat(1 + (id % 7))]));
  const found = staves(
    [
      { tokens, pieces },
      { tokens: tokens.slice(0, 12), pieces },
    ],
    30,
    1,
  );
  assert.equal(found[0].from, 0);
  assert.equal(found.at(-1).to, 40);
  found.slice(1).forEach((stave, i) => assert.equal(stave.from, found[i].to));
  for (const { from, to } of found) {
    const width = tokens.slice(from, to).reduce((sum, { id }) => sum + pieces[id].length + 1, 0);
    assert.ok(width <= 30 || to - from === 1);
  }
});

test("a token wider than the screen still gets a stave", () => {
  const lane = { tokens: [{ id: 0 }, { id: 1 }], pieces: { 0: "x".repeat(99), 1: "y" } };
  assert.deepEqual(staves([lane], 5), [
    { from: 0, to: 1 },
    { from: 1, to: 2 },
  ]);
});
