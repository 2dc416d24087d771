import assert from "node:assert/strict";
import test from "node:test";
import { commandOf, KEYS } from "../../assets/parts/keys.js";
import { read, write } from "../../assets/source/link.js";
import { initial } from "../../assets/source/store.js";

const state = { ...initial, focus: 41, follow: false, cursor: { round: 12, pos: 3 }, lanes: [41, 42] };

test("a state survives its link", () => {
  const href = write({ ...state, view: "compare" }, "http://localhost:7860/?__theme=dark");
  assert.equal(href, "http://localhost:7860/?__theme=dark&s=41&r=12&i=3&view=compare&lanes=41,42");
  assert.deepEqual(read(new URL(href).search), {
    s: 41,
    cursor: { round: 12, pos: 3 },
    view: "compare",
    lanes: [41, 42],
    against: null,
    onlyDiffs: false,
  });
});

test("a link keeps lanes of every kind, their order, the chosen one and what is left out", () => {
  const lanes = [41, "41~lenient:leniency=0.4", 44, "41~block", 42];
  const shown = { ...state, view: "compare", lanes, against: "41~block", onlyDiffs: true };
  const href = write(shown, "http://localhost/");
  assert.match(href, /lanes=41,41~lenient:leniency=0\.4,44,41~block,42&against=41~block&diff=1$/);
  const found = read(new URL(href).search);
  assert.deepEqual([found.lanes, found.against, found.onlyDiffs], [lanes, "41~block", true]);
  assert.doesNotMatch(write({ ...shown, view: "inspect" }, href), /lanes|against|diff/);
  assert.deepEqual(read("?lanes=41,41~<b>,41~block:x=1e,~block,7~rule:a=2").lanes, [41, "7~rule:a=2"]);
});

test("a screen that follows has no place in its link, so it follows again", () => {
  const href = write({ ...state, follow: true }, "http://localhost/?s=41&r=3&i=0");
  assert.equal(href, "http://localhost/?s=41");
  assert.equal(read("?s=41").cursor, null);
});

test("a place that has not arrived yet stays in the link", () => {
  const href = write({ ...state, cursor: null, want: { round: 9, pos: 1 } }, "http://localhost/");
  assert.equal(href, "http://localhost/?s=41&r=9&i=1");
});

test("nonsense in a link is nothing", () => {
  assert.deepEqual(read("?s=abc&r=-1&view=<b>&lanes=1,x,3"), {
    s: null,
    cursor: null,
    view: "inspect",
    lanes: [1, 3],
    against: null,
    onlyDiffs: false,
  });
});

test("no two keys clash, and each has a word", () => {
  const names = KEYS.map((entry) => `${Boolean(entry.shift)} ${entry.key}`);
  assert.equal(new Set(names).size, names.length);
  assert.ok(KEYS.every((entry) => entry.says && entry.shown && entry.command));
});

test("arrows look at Shift, other keys do not", () => {
  const press = (key, shiftKey = false) => commandOf({ key, shiftKey });
  assert.equal(press("ArrowLeft"), "stepBack");
  assert.equal(press("ArrowLeft", true), "roundBack");
  assert.equal(press("?", true), "help");
  assert.equal(press("q"), null);
});
