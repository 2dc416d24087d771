import assert from "node:assert/strict";
import test from "node:test";
import {
  createStore,
  family,
  initial,
  interesting,
  reduce,
  selected,
  step,
  stepRejection,
  stepRound,
  steps,
} from "../../assets/source/store.js";
import { round } from "./rounds.mjs";

const fates = ["aaa", "aru", "ruu", "aaa", "aar"];
const rounds = fates.map((text, i) => round(i, text));
const filled = (...actions) =>
  [
    { type: "focus", s: 1 },
    { type: "delta", s: 1, n: 5, status: "running", lo: 0, rounds: [...rounds], pieces: {} },
    ...actions,
  ].reduce(reduce, initial);

test("a new round moves a screen that follows", () => {
  const state = filled();
  assert.deepEqual(state.cursor, { round: 4, pos: 2 });
});

test("a new round never moves a paused cursor", () => {
  const paused = filled({ type: "cursor", round: 1, pos: 0 });
  const later = reduce(paused, { type: "delta", s: 1, n: 6, lo: 5, rounds: [round(5, "aaa")] });
  assert.deepEqual(later.cursor, { round: 1, pos: 0 });
  assert.equal(later.follow, false);
  assert.deepEqual(reduce(later, { type: "follow", on: true }).cursor, { round: 5, pos: 3 });
});

test("rounds seen twice count once", () => {
  const state = filled({ type: "delta", s: 1, n: 6, lo: 3, rounds: [rounds[3], rounds[4], round(5, "r")] });
  assert.equal(state.sessions[1].rounds.length, 6);
  assert.equal(state.sessions[1].tally.rounds, 6);
  assert.deepEqual(
    state.sessions[1].rounds.map((one) => one.i),
    [0, 1, 2, 3, 4, 5],
  );
});

test("a gap is not filled with wrong rounds; n still says how far the source is", () => {
  const state = filled({ type: "delta", s: 1, n: 9, lo: 8, rounds: [round(8, "a")] });
  assert.equal(state.sessions[1].rounds.length, 5);
  assert.equal(state.sessions[1].n, 9);
  assert.equal(state.sessions[1].tally.rounds, 5);
});

test("a round that came early can be looked at, and joins the log when the gap is closed", () => {
  let state = filled({ type: "delta", s: 1, n: 9, lo: 8, rounds: [round(8, "a")] });
  state = reduce(state, { type: "cursor", round: 8, pos: -1 });
  assert.deepEqual(state.cursor, { round: 8, pos: 1 });
  assert.equal(selected(state).round.i, 8);
  state = reduce(state, { type: "delta", s: 1, n: 9, lo: 5, rounds: [5, 6, 7].map((i) => round(i, "ar")) });
  assert.deepEqual(
    state.sessions[1].rounds.map((one) => one.i),
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.equal(state.sessions[1].ahead.size, 0);
  assert.equal(state.sessions[1].tally.rounds, 9, "each round is counted once");
});

test("a move to a round that has not come is waited for, and the cursor stays meanwhile", () => {
  let state = filled({ type: "delta", s: 1, n: 9 });
  const before = state.cursor;
  state = reduce(state, { type: "cursor", round: 7, pos: -1 });
  assert.deepEqual([state.cursor, state.want.round, state.follow], [before, 7, false]);
  state = reduce(state, { type: "delta", s: 1, n: 9, lo: 6, rounds: [round(6, "a"), round(7, "ar")] });
  assert.deepEqual([state.cursor, state.want], [{ round: 7, pos: 1 }, null]);
  assert.deepEqual(step(state.sessions[1], { round: 7, pos: 2 }, 1), { round: 8, pos: -1 });
});

test("the tally is the counters' fold", () => {
  assert.deepEqual(filled().sessions[1].tally, {
    rounds: 5,
    proposed: 15,
    tested: 12,
    accepted: 9,
    emitted: 14,
    rescued: 0,
    matrix: null,
  });
});

test("a link's place waits for its round, and later rounds do not take it away", () => {
  let state = reduce(initial, { type: "focus", s: 1, cursor: { round: 3, pos: 1 } });
  state = reduce(state, { type: "delta", s: 1, n: 5, lo: 0, rounds: rounds.slice(0, 2) });
  assert.equal(state.cursor, null);
  state = reduce(state, { type: "delta", s: 1, n: 5, lo: 2, rounds: rounds.slice(2) });
  assert.deepEqual(state.cursor, { round: 3, pos: 1 });
});

test("a place that is not there becomes the nearest sensible one", () => {
  assert.deepEqual(filled({ type: "cursor", round: 99, pos: 99 }).cursor, { round: 4, pos: 2 });
  assert.deepEqual(filled({ type: "cursor", round: -3, pos: -1 }).cursor, { round: 0, pos: 3 });
});

test("deltas of another session leave the cursor alone", () => {
  const state = filled({ type: "delta", s: 2, n: 1, lo: 0, rounds: [round(0, "aaa")] });
  assert.deepEqual(state.cursor, { round: 4, pos: 2 });
  assert.equal(state.sessions[2].rounds.length, 1);
});

test("two stores do not share sessions", () => {
  const [a, b] = [createStore(), createStore()];
  a.dispatch({ type: "delta", s: 1, n: 1, lo: 0, rounds: [round(0, "a")] });
  assert.equal(b.get().sessions[1], undefined);
});

test("steps walk drafts, then the token that follows, then the next round", () => {
  assert.deepEqual(steps(rounds[1]), [0, 1, 2, 3]);
  assert.deepEqual(steps(round(0, "aa", { next: null })), [0, 1]);
  assert.deepEqual(steps(round(0, "")), [0]);
  const session = { rounds, n: rounds.length };
  assert.deepEqual(step(session, { round: 0, pos: 3 }, 1), { round: 1, pos: 0 });
  assert.deepEqual(step(session, { round: 1, pos: 0 }, -1), { round: 0, pos: 3 });
  assert.deepEqual(step(session, { round: 0, pos: 0 }, -1), { round: 0, pos: 0 });
  assert.deepEqual(stepRound(session, { round: 1, pos: 3 }, 1), { round: 2, pos: 0 });
});

test("the next rejection, forwards and back, stays put when there is none", () => {
  const session = { rounds, n: rounds.length };
  assert.deepEqual(stepRejection(session, { round: 0, pos: 0 }, 1), { round: 1, pos: 1 });
  assert.deepEqual(stepRejection(session, { round: 1, pos: 0 }, 1), { round: 1, pos: 1 });
  assert.deepEqual(stepRejection(session, { round: 1, pos: 1 }, 1), { round: 2, pos: 0 });
  assert.deepEqual(stepRejection(session, { round: 2, pos: 0 }, -1), { round: 1, pos: 1 });
  assert.deepEqual(stepRejection(session, { round: 4, pos: 2 }, 1), { round: 4, pos: 2 });
});

test("a round opens at its rejection, else at the token that follows", () => {
  assert.equal(interesting(round(0, "aru")), 1);
  assert.equal(interesting(round(0, "aa")), 2);
  assert.equal(interesting(round(0, "aa", { next: null })), 1);
});

test("what is selected is the draft, or the token that follows", () => {
  assert.equal(selected(filled({ type: "cursor", round: 1, pos: 1 })).position.fate, "rejected");
  const bonus = selected(filled({ type: "cursor", round: 0, pos: 3 }));
  assert.equal(bonus.position, null);
  assert.equal(bonus.next.source, "bonus");
  assert.equal(selected(initial).session, null);
});

test("a session's lanes are its original and the re-runs of it", () => {
  const list = [
    { id: 1, parent_id: null },
    { id: 2, parent_id: 1 },
    { id: 3, parent_id: 1 },
    { id: 4, parent_id: null },
  ];
  assert.deepEqual(family({ list }, 3), [1, 2, 3]);
  assert.deepEqual(family({ list }, 4), [4]);
});
