import assert from "node:assert/strict";
import { test } from "node:test";

import { csv, opens } from "../../assets/data/answers.js";
import { branchPlace, budgetAt } from "../../assets/data/branch.js";
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

test("a path with spaces or quotes reaches the shell whole", () => {
  assert.equal(quotedPath("/a/b.sqlite"), "/a/b.sqlite");
  assert.equal(quotedPath("/a b/it's"), `'/a b/it'"'"'s'`);
});
