// A long stream costs the page the same every round. Reads of rounds are counted; nothing is timed.

import assert from "node:assert/strict";
import test from "node:test";
import { breakPlaces } from "../../assets/time/breaks.js";
import { percent } from "../../assets/parts/format.js";
import { initial, reduce } from "../../assets/source/store.js";
import { round } from "./rounds.mjs";

const ROUNDS = 3000;
const FATES = ["aaa", "aru", "ruu", "aar"];

// A round that says whenever it is looked at.
function watched(i, reads) {
  return new Proxy(round(i, FATES[i % FATES.length]), {
    get(target, name) {
      reads.set(i, (reads.get(i) ?? 0) + 1);
      return target[name];
    },
  });
}

function stream(after) {
  const reads = new Map();
  let state = reduce(initial, { type: "focus", s: 1 });
  const perRound = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    reads.clear();
    const rounds = [watched(i, reads)];
    state = reduce(state, {
      type: "delta",
      s: 1,
      n: i + 1,
      status: "running",
      lo: i,
      rounds,
      pieces: { [i]: "a" },
    });
    after(state);
    perRound.push({ looked: [...reads.keys()], times: [...reads.values()].reduce((sum, n) => sum + n, 0) });
  }
  return { state, perRound };
}

test("a delta looks at its own round alone, as often at the end as at the beginning", () => {
  const { state, perRound } = stream(() => {});
  assert.equal(state.sessions[1].rounds.length, ROUNDS);
  assert.equal(state.sessions[1].tally.rounds, ROUNDS);
  perRound.forEach(({ looked }, i) => assert.deepEqual(looked, [i]));
  const most = (from, to) => Math.max(...perRound.slice(from, to).map(({ times }) => times));
  assert.equal(most(ROUNDS - 100, ROUNDS), most(0, 100));
});

test("the log of rounds grows in place and is never copied", () => {
  const arrays = new Set();
  const pieces = new Set();
  stream((state) => {
    arrays.add(state.sessions[1].rounds);
    pieces.add(state.sessions[1].pieces);
  });
  assert.equal(arrays.size, 1);
  assert.equal(pieces.size, 1);
});

test("breakpoints look at new rounds alone", () => {
  const places = breakPlaces();
  const breaks = { on: ["rejection"], values: {}, all: false, pause: false };
  const around = { rules: [], own: "stochastic", divergences: [] };
  let found = [];
  const { perRound } = stream((state) => {
    found = places(state.sessions[1], breaks, around);
  });
  perRound.forEach(({ looked }, i) => assert.deepEqual(looked, [i]));
  assert.equal(found.length, FATES.filter((fates) => fates.includes("r")).length * (ROUNDS / FATES.length));
});

test("what a stop leaves behind is still said: a number, a small number, or that it was not kept", () => {
  const stopped = stream(() => {}).state.sessions[1];
  for (const one of stopped.rounds.slice(0, 8)) {
    for (const position of one.positions) assert.match(percent(position.p), /^\d+(\.\d+)?\u00a0%$/);
  }
  for (const value of [0, 1e-12, 9.99e-5, 0.5, 1 - 1e-12, 1, null, undefined]) {
    assert.notEqual(percent(value).trim(), "");
  }
  assert.equal(percent(1e-12), "<0.01\u00a0%");
});
