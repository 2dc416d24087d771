import assert from "node:assert/strict";
import test from "node:test";
import { connect } from "../../assets/source/connect.js";
import { liveSource } from "../../assets/source/live.js";
import { recordedSource } from "../../assets/source/recorded.js";
import { createStore } from "../../assets/source/store.js";
import { round } from "./rounds.mjs";

const rounds = Array.from({ length: 450 }, (_, i) => round(i, "ar"));
const head = { id: 1, rounds: 450, status: "finished", prompt: "Why?", rule: "stochastic", sampling: {} };
const recording = {
  sessions: [{ id: 1, title: "Why is the sky blue?", status: "finished", parent_id: null }],
  heads: { 1: head },
  rounds: { 1: rounds },
  pieces: { 1: { 10: " the" } },
};
// As many turns as the longest chain of answers takes, however slow the machine is.
const settled = async () => {
  for (let turn = 0; turn < 60; turn += 1) await new Promise(setImmediate);
};

// A line between a store and a source that counts its pages and can speak; cut when the test ends.
function wired(t, changes = {}) {
  const asked = [];
  const followed = [];
  const source = {
    ...recordedSource(recording),
    rounds(id, lo, hi) {
      asked.push([lo, hi]);
      return recordedSource(recording).rounds(id, lo, hi);
    },
    follow: (ids) => followed.push(ids),
    subscribe(listener) {
      source.say = listener;
      return () => {};
    },
    ...changes,
  };
  const closing = new AbortController();
  t.after(() => closing.abort());
  const store = createStore();
  return {
    store,
    asked,
    followed,
    source,
    line: connect(store, source, closing.signal),
  };
}

test("opening a session fetches its rounds a page at a time, each once", async (t) => {
  const { store, asked, line, followed } = wired(t);
  await line.open(1);
  await settled();
  assert.deepEqual(asked, [
    [0, 24],
    [24, 144],
    [144, 264],
    [264, 384],
    [384, 450],
  ]);
  assert.equal(store.get().sessions[1].rounds.length, 450);
  assert.equal(store.get().sessions[1].pieces[10], " the");
  assert.deepEqual(followed, [], "a finished session needs no tail");
});

test("a delta that comes too early is back-filled, not mixed in", async (t) => {
  const { store, asked, source } = wired(t);
  source.say({
    updates: [{ s: 1, n: 450, status: "running", lo: 448, rounds: rounds.slice(448), pieces: {} }],
  });
  await settled();
  assert.deepEqual(asked[0], [0, 24]);
  assert.deepEqual(
    store.get().sessions[1].rounds.map((one) => one.i),
    rounds.map((one) => one.i),
  );
});

test("a live session is followed, with its lanes while they are on view", async (t) => {
  const live = { ...head, rounds: 0, status: "running" };
  const { line, followed, source } = wired(t, {
    head: (id) => Promise.resolve({ ...live, id }),
    rerun: (id, lanes) => Promise.resolve({ sessions: lanes.map((_, i) => id + 1 + i) }),
  });
  source.say({ started: 1 });
  await settled();
  assert.deepEqual(followed.at(-1), [1]);
  await line.view("compare");
  await line.compare.rerun([{ rule: "stochastic" }, { rule: "block" }]);
  assert.deepEqual(followed.at(-1), [1, 2, 3]);
});

test("a re-judged lane is asked for once, and is a lane like the others", async (t) => {
  const judged = [];
  const line_ = { rule: "argmax", params: {}, asked: "argmax", rule_reason: "", status: "needs a run" };
  const { store, line, followed } = wired(t, {
    rerun: () => Promise.resolve({ sessions: [] }),
    rejudged(id, lanes) {
      judged.push([id, lanes]);
      const line = { ...line_, reason: "another token at position 2", exact: true, missing_mass: 0 };
      return Promise.resolve({
        lanes: [{ line, rounds: rounds.slice(0, 2), rule_title: "Argmax" }],
        pieces: {},
      });
    },
  });
  await line.open(1);
  await line.view("compare");
  await line.compare.rejudge([{ rule: "argmax", params: {} }]);
  await line.compare.rejudge([{ rule: "argmax", params: {} }]);
  assert.deepEqual(store.get().lanes, [1, "1~argmax"]);
  assert.deepEqual(judged, [[1, [{ rule: "argmax", params: {} }]]]);
  const lane = store.get().sessions["1~argmax"];
  assert.deepEqual(
    [lane.head.rule, lane.head.judged.of, lane.rounds.length, lane.status],
    ["argmax", 1, 2, "needs a run"],
  );
  assert.equal(store.get().lines["1~argmax"].status, "needs a run");
  line.open("1~argmax");
  assert.deepEqual([store.get().focus, store.get().against], [1, "1~argmax"]);
  line.compare.dropLane("1~argmax");
  assert.deepEqual([store.get().lanes, store.get().against], [[1], null]);
  assert.ok(followed.flat().every((id) => typeof id === "number"));
});

test("a failing call is a banner with its hint", async (t) => {
  const broken = () =>
    Promise.reject(Object.assign(new Error("There is no session 9."), { hint: "Choose one." }));
  const { store, line } = wired(t, { head: broken });
  await line.open(9);
  assert.deepEqual(store.get().error, { message: "There is no session 9.", hint: "Choose one." });
});

test("a live source reads JSON strings once and turns an error answer into an error", async () => {
  const props = { value: null };
  let poke = null;
  const server = {
    head: async () => '{"error":{"message":"There is no session 9.","hint":"Choose one."}}',
    sessions: async ({ filters, limit }) => JSON.stringify({ sessions: [filters.search, limit] }),
  };
  const source = liveSource({ props, server, watch: (_, act) => (poke = act), follow() {} });
  const heard = [];
  source.subscribe((message) => heard.push(message));
  props.value = '{"started":4}';
  poke();
  poke();
  assert.deepEqual(heard, [{ started: 4 }]);
  assert.deepEqual(await source.sessions({ search: "sky" }, 100), { sessions: ["sky", 100] });
  await assert.rejects(source.head(9), { message: "There is no session 9.", hint: "Choose one." });
});

test("a recording is searched by title and offers nothing it cannot do", async () => {
  const source = recordedSource(recording);
  assert.equal((await source.sessions({ search: "SKY" })).sessions.length, 1);
  assert.equal((await source.sessions({ search: "sea" })).sessions.length, 0);
  assert.equal(source.rerun, undefined);
  assert.equal(source.stop, undefined);
});

test("the far end is fetched at once, whatever is still missing in front of it", async (t) => {
  const { store, asked, line } = wired(t);
  await line.open(1, { round: 440, pos: 1 });
  for (let turn = 0; turn < 6; turn += 1) await new Promise(setImmediate);
  assert.ok(
    asked.slice(0, 3).some(([lo, hi]) => lo <= 440 && 440 < hi),
    `asked for ${JSON.stringify(asked)}`,
  );
  assert.deepEqual(store.get().cursor, { round: 440, pos: 1 });
  await settled();
  assert.equal(store.get().sessions[1].rounds.length, 450);
  assert.equal(store.get().sessions[1].tally.rounds, 450);
});

test("rows that did not come are asked for again when the reader comes back, and not before", async (t) => {
  const asked = [];
  const wide = (id, index) => {
    asked.push(index);
    if (asked.length === 1) return Promise.reject(new Error("The line was cut."));
    return Promise.resolve({ rounds: [rounds[index]], pieces: {} });
  };
  const { store, line } = wired(t, { wide });
  store.dispatch({ type: "option", name: "bars", value: 16 });
  await line.open(1, { round: 0, pos: 0 });
  await settled();
  assert.equal(store.get().error.message, "The line was cut.");
  assert.deepEqual(asked, [0], "a failure asks nothing by itself");
  for (const index of [5, 0, 5, 0]) {
    store.dispatch({ type: "cursor", round: index, pos: 0 });
    await settled();
  }
  assert.deepEqual(asked, [0, 5, 0], "and what came is kept");
});

test("a recording finds its re-judged lane however its numbers are written, and no other", async () => {
  const judged = { "1~lenient:leniency=1.0": { line: { rule: "lenient" }, rule_title: "Lenience" } };
  const source = recordedSource({
    ...recording,
    judged,
    rounds: { ...recording.rounds, "1~lenient:leniency=1.0": rounds.slice(0, 2) },
    pieces: { ...recording.pieces, "1~lenient:leniency=1.0": { 10: " the" } },
  });
  const found = await source.rejudged(1, [{ rule: "lenient", params: { leniency: 1 } }]);
  assert.equal(found.lanes[0].rounds.length, 2);
  assert.equal(found.lanes[0].line.rule, "lenient");
  assert.deepEqual(found.pieces, { 10: " the" });
  await assert.rejects(
    source.rejudged(1, [{ rule: "lenient", params: { leniency: 0.5 } }]),
    /no re-judged lane 1~lenient:leniency=0.5/,
  );
});
