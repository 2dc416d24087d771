import assert from "node:assert/strict";
import { test } from "node:test";

import { csv, opens } from "../../assets/data/answers.js";
import { branchPlace, budgetAt } from "../../assets/data/branch.js";
import { estimate, leadOf } from "../../assets/data/estimates.js";
import { exportChoices } from "../../assets/data/share.js";
import { quotedPath } from "../../assets/data/view.js";

test("a cell leads to its session, a round into the session of its row", () => {
  const columns = ["session_id", "round", "n"];
  assert.deepEqual(opens(columns, [7, 3, 1], 0), { session: 7, cursor: null });
  assert.deepEqual(opens(columns, [7, 3, 1], 1), { session: 7, cursor: { round: 3, pos: -1 } });
  assert.equal(opens(columns, [7, 3, 1], 2), null);
  assert.equal(opens(["round"], [3], 0), null);
  assert.equal(opens(["session"], ["x"], 0), null);
  assert.equal(opens(["session"], [0], 0), null);
  assert.deepEqual(opens(["session"], ["    12"], 0), { session: 12, cursor: null });
});

test("CSV quotes what would break a line, and leaves null empty", () => {
  const answer = {
    columns: ["a", "b,c"],
    rows: [
      [null, 'say "hi"'],
      [1.5, "two\nlines"],
    ],
  };
  assert.equal(csv(answer), 'a,"b,c"\r\n,"say ""hi"""\r\n1.5,"two\nlines"\r\n');
});

test("an untested draft is no place to branch, and a recording has none", () => {
  const session = { head: { max_tokens: 24 } };
  assert.deepEqual(branchPlace(session, { fate: "accepted", at: 5 }), { at: 5 });
  assert.match(branchPlace(session, { fate: "untested", at: 5 }).why, /never tested/);
  assert.equal(branchPlace({ head: { recorded: true } }, { fate: "accepted", at: 5 }), null);
});

test("a branch at the very end gets room to go on", () => {
  assert.equal(budgetAt({ max_tokens: 24 }, 5), 24);
  assert.equal(budgetAt({ max_tokens: 24 }, 23), 40);
});

test("lanes are offered where there are several, recorded ones never", () => {
  const sessions = { 1: { head: {} }, 2: { head: {} }, "-1": { head: { recorded: true } } };
  const ids = (state) => exportChoices(state).map(([value]) => value.sessions);
  assert.deepEqual(ids({ focus: 1, lanes: [1, 2], sessions }), [[1], [1, 2], [1]]);
  assert.deepEqual(ids({ focus: 1, lanes: [1], sessions }), [[1], [1]]);
  assert.deepEqual(ids({ focus: -1, lanes: [-1], sessions }), []);
});

test("a re-judged lane is offered with the lanes, in their order, and is no session", () => {
  const sessions = { 1: { head: {} }, 2: { head: {} }, "-1": { head: { recorded: true } } };
  const judged = "1~lenient:leniency=0.4";
  const [, [asked, words]] = exportChoices({ focus: 1, lanes: [1, judged, 2, "-1~block"], sessions });
  assert.deepEqual(asked.sessions, [1, 2]);
  const lane = { id: judged, session: 1, rule: "lenient", params: { leniency: 0.4 } };
  assert.deepEqual(asked.lanes, [1, lane, 2]);
  assert.equal(words, "the 3 lanes of Compare: #1, lenient re-judged, #2");
});

test("a path with spaces or quotes reaches the shell whole", () => {
  assert.equal(quotedPath("/a/b.sqlite"), "/a/b.sqlite");
  assert.equal(quotedPath("/a b/it's"), `'/a b/it'"'"'s'`);
});

test("an estimate has its sign where it is a difference, and says so where there is none", () => {
  assert.deepEqual(estimate({ mean: 1.5, low: 1, high: 2, n: 3 }, false), {
    mean: "1.5000",
    interval: "1.0000 to 2.0000",
  });
  assert.deepEqual(estimate({ mean: -0.25, low: -1, high: 0.5, n: 3 }, true), {
    mean: "−0.2500",
    interval: "−1.0000 to +0.5000",
  });
  assert.deepEqual(estimate({ mean: null, low: null, high: null, n: 0 }, true), {
    mean: "n/a",
    interval: "",
  });
  assert.deepEqual(estimate({ mean: 2, low: null, high: null, n: 1 }, false), {
    mean: "2.0000",
    interval: "",
  });
});

test("a stopped comparison says that it can go on", () => {
  assert.equal(leadOf({ done: 3, runs: 6, found: 0, complete: false }), "Stopped at 3 of 6; Start goes on.");
  assert.equal(leadOf({ done: 6, runs: 6, found: 2, complete: true }), "6 runs, 2 of them stored before");
});

test("what rounds to nothing has no sign", () => {
  assert.deepEqual(estimate({ mean: -1e-9, low: -1e-9, high: 1e-9, n: 2 }, true), {
    mean: "0.0000",
    interval: "0.0000 to 0.0000",
  });
});
