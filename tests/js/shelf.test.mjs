import assert from "node:assert/strict";
import test from "node:test";
import { connect } from "../../assets/source/connect.js";
import { withDemo } from "../../assets/source/demo.js";
import { factsText, nested } from "../../assets/library/sessions.js";
import { FILTERS, narrowed, reusedText } from "../../assets/source/shelf.js";
import { createStore } from "../../assets/source/store.js";

const settled = (ms = 20) => new Promise((done) => setTimeout(done, ms));
const row = (id, more = {}) => ({
  id,
  parent_id: null,
  title: "",
  status: "finished",
  starred: false,
  ...more,
});
const page = (rows, more = {}) => ({
  sessions: rows,
  total: rows.length,
  all: rows.length,
  bytes: 10,
  facets: {},
  ...more,
});

// A shelf over a source whose every call is written down.
function wired(t, changes = {}) {
  const calls = [];
  const said =
    (name, answer) =>
    (...values) => {
      calls.push([name, ...values]);
      return Promise.resolve(answer);
    };
  const source = {
    subscribe: () => () => {},
    follow: () => {},
    choices: said("choices", { rules: [] }),
    sessions: said("sessions", page([row(2), row(1)])),
    change: (id, values) => said("change", row(id, values))(id, values),
    remove: said("remove", { undo_s: 12 }),
    restore: said("restore", row(1)),
    head: said("head", { id: 0, rounds: 0, status: "finished" }),
    rounds: said("rounds", { rounds: [], pieces: {} }),
    ...changes,
  };
  const closing = new AbortController();
  const store = createStore();
  const line = connect(store, source, closing.signal);
  t.after(() => closing.abort());
  return { store, line, list: line.list, calls };
}

test("filters ask for the first page again, and typing asks once", async (t) => {
  const { list, calls } = wired(t);
  await settled();
  calls.length = 0;
  list.search("s");
  list.search("sk");
  list.search("sky");
  await settled(200);
  assert.deepEqual(calls, [["sessions", { ...FILTERS, search: "sky" }, 100]]);
  list.filter({ rule: "block" });
  await settled();
  assert.deepEqual(calls.at(-1), ["sessions", { ...FILTERS, search: "sky", rule: "block" }, 100]);
  await list.more();
  assert.equal(calls.at(-1)[2], 200);
  list.clearFilters();
  await settled();
  assert.deepEqual(calls.at(-1), ["sessions", FILTERS, 100]);
});

test("clearing filters keeps the order", async (t) => {
  const { store, list } = wired(t);
  list.filter({ order: "title", rule: "block" });
  list.clearFilters();
  assert.deepEqual(store.get().filters, { ...FILTERS, order: "title" });
  await settled();
});

test("an older answer never replaces a newer one", async (t) => {
  const waiting = [];
  const { store, list } = wired(t, { sessions: () => new Promise((done) => waiting.push(done)) });
  list.filter({ rule: "a" });
  list.filter({ rule: "b" });
  waiting[2](page([row(7)]));
  await settled();
  waiting[1](page([row(6)]));
  waiting[0](page([row(5)]));
  await settled();
  assert.deepEqual(
    store.get().list.map((one) => one.id),
    [7],
  );
});

test("a list that was under way takes no star back, nor does the answer to the press before", async (t) => {
  const waiting = { sessions: [], change: [] };
  const later = (name) => () => new Promise((done) => waiting[name].push(done));
  const { store, list } = wired(t, { sessions: later("sessions"), change: later("change") });
  const starred = () => store.get().list.find((one) => one.id === 1).starred;
  waiting.sessions.shift()(page([row(2), row(1)]));
  await settled();
  list.refresh();
  const seen = [];
  list.star(1);
  waiting.sessions.shift()(page([row(2), row(1)])); // as it was before the press
  await settled();
  seen.push(starred());
  list.star(1);
  waiting.change.shift()(row(1, { starred: true })); // the answer to the first press
  await settled();
  seen.push(starred());
  waiting.change.shift()(row(1));
  await settled();
  waiting.sessions.shift()(page([row(2), row(1)]));
  await settled();
  seen.push(starred(), waiting.sessions.length);
  assert.deepEqual(seen, [true, false, false, 0]);
});

test("a change that fails shows what is stored", async (t) => {
  const change = () => Promise.reject(new Error("The line was cut."));
  const { store, list } = wired(t, { change });
  await settled();
  list.star(1);
  assert.equal(store.get().list.find((one) => one.id === 1).starred, true);
  await settled();
  assert.equal(store.get().list.find((one) => one.id === 1).starred, false);
  assert.equal(store.get().error.message, "The line was cut.");
});

test("a star is shown at once and told to the source", async (t) => {
  const { store, list, calls } = wired(t);
  await settled();
  list.star(1);
  assert.equal(store.get().list.find((one) => one.id === 1).starred, true);
  await settled();
  assert.deepEqual(
    calls.find(([name]) => name === "change"),
    ["change", 1, { starred: true }],
  );
  assert.equal(list.star(99), null);
});

test("a deleted row goes at once, with a way back until it does not matter", async (t) => {
  let rows = [row(2), row(1)];
  const { store, list, calls } = wired(t, { sessions: async () => page(rows) });
  await settled();
  rows = [row(1)];
  await list.remove(2);
  assert.deepEqual(
    store.get().list.map((one) => one.id),
    [1],
  );
  assert.equal(store.get().toast.undo, 2);
  await list.restore(2);
  assert.equal(store.get().toast, null);
  assert.deepEqual(
    calls.filter(([name]) => name === "restore"),
    [["restore", 2]],
  );
});

test("a list that fails at first says so, and later failures keep what was there", async (t) => {
  let fail = true;
  const { store, list } = wired(t, {
    sessions: () => (fail ? Promise.reject(new Error("broken")) : Promise.resolve(page([row(1)]))),
  });
  await settled();
  assert.equal(store.get().listFailed, true);
  fail = false;
  await list.refresh();
  assert.equal(store.get().listFailed, false);
  fail = true;
  await list.refresh();
  assert.deepEqual([store.get().listFailed, store.get().list.length], [false, 1]);
});

test("loading is asked for until it is over", async (t) => {
  const answers = ["Loading bundled", ""];
  const { store } = wired(t, { warming: () => Promise.resolve({ message: answers.shift() }) });
  await settled();
  assert.equal(store.get().warming, "Loading bundled");
  await settled(900);
  assert.equal(store.get().warming, "");
  assert.equal(answers.length, 0);
});

test("order alone narrows nothing", () => {
  assert.equal(narrowed({ ...FILTERS, order: "title" }), false);
  assert.equal(narrowed({ ...FILTERS, starred: true }), true);
  assert.equal(narrowed({ ...FILTERS, search: "x" }), true);
});

test("the foot of the list counts what is shown of what there is", () => {
  const listing = { total: 3, all: 41, bytes: 4_200_000 };
  assert.equal(factsText({ list: [], listing, filters: FILTERS }), "41 sessions · 4.2 MB on disk");
  assert.equal(
    factsText({ list: [], listing, filters: { ...FILTERS, tag: "x" } }),
    "3 of 41 sessions · 4.2 MB on disk",
  );
  assert.equal(factsText({ list: null, listing: null, filters: FILTERS }), "");
});

test("children stand under their parents, grandchildren under them, orphans alone", () => {
  const list = [
    row(5, { parent_id: 4 }),
    row(4, { parent_id: 1 }),
    row(3, { parent_id: 9 }),
    row(2, { parent_id: 1 }),
    row(1),
  ];
  assert.deepEqual(
    nested(list).map(({ row: one, depth }) => [one.id, depth]),
    [
      [3, 0],
      [1, 0],
      [2, 1],
      [4, 1],
      [5, 2],
    ],
  );
});

test("what the form cannot hold is named", () => {
  assert.equal(reusedText({ session: 4, left_out: [] }), "The settings of #4 are in the form above.");
  assert.match(
    reusedText({ session: 4, left_out: ["xtc threshold 0.2"] }),
    /Not in it: xtc threshold 0\.2\.$/,
  );
});

// The demo beside a live source.

const recording = {
  sessions: [
    row(0, { title: "Demo", recorded: true }),
    row(-1, { title: "Demo", recorded: true, parent_id: 0 }),
  ],
  heads: {
    0: { id: 0, rounds: 1, status: "finished", recorded: true },
    "-1": { id: -1, rounds: 0, status: "finished" },
  },
  rounds: { 0: [], "-1": [] },
  pieces: { 0: {}, "-1": {} },
};
const fetched =
  (body, ok = true) =>
  async () => ({ ok, status: ok ? 200 : 404, json: async () => body });

test("the first start opens the recorded session, and only the first start", async (t) => {
  const without = wired(t);
  assert.equal(without.line.openDemo, null);
  const source = (rows) =>
    withDemo(
      {
        subscribe: () => () => {},
        follow() {},
        choices: async () => ({ rules: [] }),
        sessions: async () => page(rows),
      },
      "demo.json",
      fetched(recording),
    );
  for (const [rows, focus, shown] of [
    [[], 0, [0, -1]],
    [[row(3)], null, [3]],
  ]) {
    const closing = new AbortController();
    t.after(() => closing.abort());
    const store = createStore();
    connect(store, source(rows), closing.signal);
    await settled();
    assert.equal(store.get().focus, focus);
    assert.deepEqual(
      store.get().list.map((one) => one.id),
      shown,
    );
  }
});

test("a recorded session is read from its file, a real one from the source", async () => {
  const heads = [];
  const source = withDemo(
    {
      head: async (id) => heads.push(id),
      stop: async () => "stopped",
      rerun: async () => "ran",
      follow: (ids) => heads.push(ids),
    },
    "demo.json",
    fetched(recording),
  );
  assert.equal((await source.head(0)).recorded, true);
  await source.head(7);
  source.follow([0, 7, -1]);
  assert.deepEqual(heads, [7, [7]]);
  assert.equal(await source.stop(7), "stopped");
  await assert.rejects(source.stop(0), { message: "A recorded session cannot be stopped.", hint: /Run/ });
  await assert.rejects(source.rerun(-1), /re-run/);
});

test("a demo that is not there is an error that can be tried again", async () => {
  let there = false;
  const source = withDemo({}, "demo.json", (address) => fetched(recording, there)(address));
  await assert.rejects(source.head(0), /could not be read \(404\)/);
  there = true;
  assert.equal((await source.head(0)).id, 0);
});
