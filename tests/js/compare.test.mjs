// Lanes: what they are called, how they move, where they meet again, and what their table says.

import assert from "node:assert/strict";
import test from "node:test";
import { samePlace } from "../../assets/compare/actions.js";
import { lanesOf } from "../../assets/compare/chooser.js";
import { chosenLane, judgedId, judgedOf, laneName, moved, without } from "../../assets/compare/lane.js";
import { rowText } from "../../assets/compare/lane_list.js";
import { meeting, meetingText } from "../../assets/compare/meet.js";
import { asCsv, asMarkdown, best, written } from "../../assets/compare/table.js";
import { whyTheyPart } from "../../assets/compare/why.js";
import { round } from "./rounds.mjs";

const tokens = (text) => [...text].map((id) => ({ id }));

test("a re-judged lane's id says all of it", () => {
  const id = judgedId(41, "threshold", { single: 0.9, accumulated: 0.5 });
  assert.equal(id, "41~threshold:accumulated=0.5:single=0.9");
  assert.deepEqual(judgedOf(id), {
    session: 41,
    rule: "threshold",
    params: { accumulated: 0.5, single: 0.9 },
  });
  assert.deepEqual(judgedOf("-2~block"), { session: -2, rule: "block", params: {} });
  for (const wrong of ["block", "41~", "41~a b", "41~block:x", "41~block:x=-", 41, null])
    assert.equal(judgedOf(wrong), null);
});

test("a lane is named by what sets it apart", () => {
  const rules = [
    { id: "lenient", parameters: [{ name: "leniency", default: 0.5 }] },
    {
      id: "threshold",
      parameters: [
        { name: "single", default: 0.9 },
        { name: "accumulated", default: 0.9 },
      ],
    },
  ];
  const base = { rule: "block", params: {}, drafter: "self:3bit", k: 4, seed: 0, target: "bundled" };
  assert.equal(laneName(base, null, rules), "block");
  assert.equal(laneName({ ...base, rule: "lenient", params: { leniency: 0.4 } }, base, rules), "lenient 0.4");
  assert.equal(laneName({ ...base, rule: "lenient", params: { leniency: 0.5 } }, base, rules), "lenient");
  const params = { single: 0.9, accumulated: 0.5 };
  assert.equal(laneName({ ...base, rule: "threshold", params }, base, rules), "threshold accumulated 0.5");
  assert.equal(laneName({ ...base, k: 8, drafter: "lookup" }, base, rules), "block, lookup, k 8");
});

test("lanes are moved and taken away, and a re-judged lane is never the baseline", () => {
  const lanes = [1, 2, "1~block", 3];
  assert.deepEqual(moved(lanes, 1, 1), [1, "1~block", 2, 3]);
  assert.deepEqual(moved(lanes, 3, -3), [3, 1, 2, "1~block"]);
  assert.deepEqual(moved(lanes, 2, -2), lanes);
  assert.deepEqual(moved([1, "1~block"], 0, 1), [1, "1~block"]);
  assert.deepEqual(moved(lanes, 3, 1), lanes);
  assert.deepEqual(without(lanes, 2), [1, "1~block", 3]);
  assert.deepEqual(without([1, "1~block", 3], 1), [3, "1~block"]);
});

test("the lane that is held against the baseline", () => {
  const lanes = [1, 2, 3];
  const parts = (id) => id === 3;
  assert.equal(chosenLane(lanes, { against: 2, focus: 3, parts }), 2);
  assert.equal(chosenLane(lanes, { against: 9, focus: 3, parts }), 3);
  assert.equal(chosenLane(lanes, { against: null, focus: 1, parts }), 3);
  assert.equal(chosenLane([1], { against: null, focus: 1, parts }), null);
});

test("every rule with every drafter and every k", () => {
  const rules = new Map([
    ["block", {}],
    ["lenient", { leniency: 0.4 }],
  ]);
  assert.equal(lanesOf(rules, [], []).length, 2);
  const lanes = lanesOf(rules, ["lookup", "none"], ["2", "8"]);
  assert.equal(lanes.length, 8);
  assert.deepEqual(lanes[5], { rule: "lenient", params: { leniency: 0.4 }, drafter: "lookup", k: 8 });
  assert.equal(new Set(lanes.map((lane) => JSON.stringify(lane))).size, 8);
});

test("lanes meet again at the same positions, at the end, at others, or not", () => {
  assert.deepEqual(meeting(tokens("abXdefg"), tokens("abYdefZ"), 2), { at: 3, other: 3, n: 3, toEnd: false });
  assert.deepEqual(meeting(tokens("abXde"), tokens("abYde"), 2), { at: 3, other: 3, n: 2, toEnd: true });
  assert.equal(meeting(tokens("abXde"), tokens("abYde"), 2, false), null);
  assert.deepEqual(meeting(tokens("abXlmn"), tokens("abYYlmn"), 2), { at: 3, other: 4, n: 3, toEnd: true });
  assert.equal(meeting(tokens("abXd.f"), tokens("abYe.g"), 2), null);
  assert.match(meetingText(null), /do not meet/);
  assert.match(
    meetingText({ at: 3, other: 4, n: 3, toEnd: true }),
    /position 3 in the baseline and 4 in the lane/,
  );
});

test("a meeting is what it says, for any two texts", () => {
  let seed = 3;
  const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let i = 0; i < 500; i += 1) {
    const some = (first) =>
      tokens(`ab${first}` + Array.from({ length: next(14) }, () => "xyz"[next(3)]).join(""));
    const [a, b] = [some("P"), some("Q")];
    const found = meeting(a, b, 2);
    if (!found) continue;
    const { at, other, n, toEnd } = found;
    assert.ok(at > 2 && other > 2 && n >= 1);
    for (let j = 0; j < n; j += 1) assert.equal(a[at + j].id, b[other + j].id);
    if (toEnd) assert.deepEqual([at + n, other + n], [a.length, b.length]);
    else assert.ok(n >= 3 && a[at + n]?.id !== b[other + n]?.id);
  }
});

const cell = (value, low = null, high = null) => ({ value, low, high, n: 9, why: "" });
const columns = [
  { id: "speed", title: "speed", better: "high" },
  { id: "tv", title: "TV", better: "low" },
  { id: "note", title: "note", better: "" },
];
const line = (speed, tv, more = {}) => ({
  cells: { speed, tv, note: cell(null) },
  lengths: [2, 0, 1],
  session: 7,
  mode: "run",
  rule: "block",
  params: {},
  drafter: "lookup",
  k: 4,
  seed: 0,
  status: "finished",
  rounds: 3,
  emitted: 5,
  ...more,
});

test("the best is marked only where it is told apart", () => {
  const apart = [
    line(cell(3, 2.9, 3.1), cell(0)),
    line(cell(2, 1.9, 2.1), cell(0)),
    line(cell(1, 0.9, 1.1), cell(0.2, 0.1, 0.3)),
  ];
  assert.deepEqual(best(columns, apart), { speed: { lanes: [0], why: "" }, tv: { lanes: [0, 1], why: "" } });
  const close = [line(cell(3, 2, 4), cell(0)), line(cell(2, 1, 3), cell(0))];
  const found = best(columns, close);
  assert.deepEqual(found.speed.lanes, []);
  assert.match(found.speed.why, /overlap/);
  assert.match(found.tv.why, /equal/);
  assert.deepEqual(best(columns, [line(cell(3), cell(null)), null]).speed, { lanes: [], why: "" });
});

test("the table goes out as CSV that no spreadsheet runs, and as Markdown", () => {
  const lines = [
    line(cell(3, 2.5, 3.5), cell(0), { rule: '=cmd|"x"' }),
    line(cell(1 / 3), cell(0.5), { params: { a: 0.4, b: 2 } }),
  ];
  const [head, first, second] = asCsv(columns, lines).split("\r\n");
  assert.match(head, /^lane,session,mode,rule,params,.*speed,speed_low,speed_high,.*rounds_by_accepted$/);
  assert.match(first, /^0,7,run,"'=cmd\|""x""",/);
  assert.match(second, /,a=0.4 b=2,.*,0.333333333333,,,0.5,,,,,,2 0 1$/);
  const text = asMarkdown(columns, lines, ["a|b", "block"]);
  assert.match(text, /^\| {2}\| a\\\|b \(#7\) \| block \(#7\) \|$/m);
  assert.match(text, /^\| speed \| \*\*3\.0000 \[2\.5000, 3\.5000\]\*\* \| 0\.3333 \|$/m);
  assert.equal(written(cell(null)), "n/a");
  assert.equal(written(cell(0.00001)), "1.0e-5");
});

test("all lanes have one cursor", () => {
  const a = {
    id: 1,
    rounds: [
      { ...round(0, "aa"), start: 0 },
      { ...round(1, "ar"), start: 3 },
    ],
  };
  const b = {
    id: 2,
    rounds: [
      { ...round(0, "r"), start: 0 },
      { ...round(1, "aaa"), start: 1 },
    ],
  };
  const state = {
    view: "compare",
    lanes: [1, 2],
    focus: 1,
    cursor: { round: 1, pos: 0 },
    sessions: { 1: a, 2: b },
  };
  assert.deepEqual(samePlace(state, 2), { round: 1, pos: 2 });
  assert.deepEqual(samePlace({ ...state, cursor: { round: 1, pos: 2 } }, 2), { round: 1, pos: 3 });
  assert.equal(samePlace({ ...state, view: "inspect" }, 2), null);
  assert.equal(samePlace(state, 3), null);
});

test("a row that differs is named with its size", () => {
  const row = { side: "p", position: 12, round: 3, largest: 2.1e-7, tv: 4e-7, token: 5 };
  assert.match(rowText(row), /p at position 12 \(round 3\), by up to 2\.1 × 10⁻⁷/);
  assert.match(rowText(null), /All rows/);
});

// Two lanes of one round, kept in one and rejected in the other, whose rows p are this far apart.
function rowsOf(apart, head = {}) {
  const session = (fates, more) => ({
    head: { rule: "stochastic", params: {}, drafter: "self:3bit", seed: 0, ...more },
    rounds: [round(0, fates)],
  });
  const lane = session("r", head);
  lane.rounds[0].positions[0].p += apart;
  return whyTheyPart(session("a", {}), lane, 0).rows;
}

test("where lanes read the same tokens and p differs, the reason is said and not more", () => {
  assert.equal(rowsOf(0), "");
  assert.match(rowsOf(3e-6), /differs by 3.*rounding, where the models read/);
  assert.match(rowsOf(0.126), /more than rounding makes.*or a bug\.$/);
  const fault = { fault: "target-not-rewound", watermark: "faulty on purpose: target cache not rewound" };
  assert.match(rowsOf(0.126, fault), /differs by 0\.126 between the lanes: faulty on purpose: target cache/);
});
