import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { readLook, writeLook } from "../../assets/source/look.js";
import { read } from "../../assets/source/link.js";
import { initial } from "../../assets/source/store.js";
import { CARDS, cardLink, cardNumber, ratesText } from "../../assets/tour/cards.js";
import { PANELS, presented } from "../../assets/tour/present.js";
import { answered, ask, FRESH, score } from "../../assets/tour/quiz.js";

const recording = (name) => JSON.parse(readFileSync(new URL(`../../assets/demo/${name}`, import.meta.url)));
const demo = recording("demo.json");
const tour = recording("tour.json");
const faults = recording("faults.json");
const roundsOf = (id) => demo.rounds[id] ?? tour.rounds[id];

test("there are eight to ten cards, each with one question and words for its end", () => {
  assert.ok(CARDS.length >= 8 && CARDS.length <= 10);
  for (const card of CARDS) {
    assert.ok(card.asks.length > 0 && card.says.length > 0 && card.after, card.id);
    const right = (card.choices ?? []).filter((one) => one.right);
    assert.equal(right.length, card.choices ? 1 : 0, card.id);
  }
  assert.equal(new Set(CARDS.map((card) => card.id)).size, CARDS.length);
});

test("every card's link and its showing name places that the recordings have", () => {
  for (const card of CARDS) {
    for (const link of [card.link, card.show].filter(Boolean)) {
      const { s, cursor, lanes } = read(link);
      for (const id of [s, ...lanes]) assert.ok(roundsOf(id), `${card.id}: session ${id}`);
      const round = roundsOf(s)[cursor.round];
      assert.ok(cursor.pos === -1 || cursor.pos < round.k || (cursor.pos === round.k && round.next), card.id);
    }
  }
});

test("a card's words are true of the recording they speak of", () => {
  const [six, five, nine] = [6, 5, 9].map((i) => demo.rounds[0][i]);
  assert.deepEqual([six.k, six.tested, six.accepted], [4, 3, 2]);
  assert.equal(demo.pieces[0][six.positions[2].x], ".");
  assert.equal(demo.pieces[0][six.next.token], ",");
  assert.equal(six.next.source, "corrected");
  assert.ok(six.positions[0].u < six.positions[0].accept_prob);
  assert.equal(five.accepted, 0);
  assert.deepEqual(five.positions.map((one) => one.fate).slice(1), ["untested", "untested", "untested"]);
  assert.deepEqual([nine.accepted, nine.next.source, nine.emitted], [4, "bonus", 5]);
  const lenient = tour.laws["0/6/2"].rules.find((one) => one.id === "lenient");
  assert.ok(lenient.tv > 0.05);
  for (const id of ["stochastic", "sampler-match", "one-hot", "gumbel"])
    assert.ok(tour.laws["0/6/2"].rules.find((one) => one.id === id).tv < 1e-9, id);
});

test("the tour's own sessions are marked, and re-runs of the demo at its seed", () => {
  for (const row of tour.sessions) {
    assert.match(row.watermark, /^faulty on purpose: /);
    assert.equal(tour.heads[row.id].watermark, row.watermark);
    assert.deepEqual(
      [row.parent_id, row.seed, row.prompt],
      [0, demo.sessions[0].seed, demo.sessions[0].prompt],
    );
  }
  assert.equal(tour.heads["-10"].fault, "target-not-rewound");
});

test("the two rates are those of the recorded session", () => {
  const text = ratesText(demo.heads[0].counters);
  assert.match(text, /59 % of those tested and 34 % of those drafted/);
  assert.match(ratesText(undefined), /2 of 3 tested/);
});

test("a card's number is a whole number of a card that there is", () => {
  assert.deepEqual(["1", "10", "0", "11", "x", "", null, "1.5"].map(cardNumber), [
    1,
    10,
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
});

test("the card, the presented panel and the chosen fault survive a link", () => {
  const state = { ...initial, tour: 3, present: "decision", view: "faults", fault: "rows-shifted" };
  const query = new URLSearchParams(
    Object.entries(writeLook(state)).filter(([, value]) => value !== null),
  ).toString();
  const { tour: n, present, fault } = readLook(`?${query}`).values;
  assert.deepEqual([n, present, fault], [3, "decision", "rows-shifted"]);
  assert.equal(readLook(cardLink(7)).values.tour, 7);
  assert.equal(readLook("?tour=99&present=nonsense").values.tour, null);
  assert.equal(presented("nonsense"), null);
});

test("panels have the keys 1 to 9, each once", () => {
  assert.ok(PANELS.length <= 9);
  assert.equal(new Set(PANELS.map((panel) => panel.id)).size, PANELS.length);
});

const dice = (seed) => () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};

test("a question has the right answer among four, and none that looks the same", () => {
  const ids = faults.cases.map((one) => one.id);
  const next = dice(7);
  let quiz = FRESH;
  const asked = new Set();
  for (let i = 0; i < 200; i += 1) {
    const before = quiz.id;
    quiz = ask(quiz, ids, next);
    asked.add(quiz.id);
    assert.notEqual(quiz.id, before);
    assert.equal(new Set(quiz.options).size, 4);
    assert.ok(quiz.options.includes(quiz.id));
    assert.ok(!(quiz.options.includes("unfiltered-q") && quiz.options.includes("fault-raw-q")));
  }
  assert.equal(asked.size, ids.length);
});

test("the first answer counts, once, and only one of those offered", () => {
  const quiz = ask(FRESH, ["a", "b", "c", "d", "e"], dice(1));
  const wrong = quiz.options.find((id) => id !== quiz.id);
  const once = answered(quiz, wrong);
  assert.deepEqual([once.asked, once.right], [1, 0]);
  assert.equal(answered(once, quiz.id), once);
  assert.equal(answered(quiz, "nonsense"), quiz);
  assert.equal(score(answered(quiz, quiz.id)), "1 of 1 right");
  assert.equal(score(FRESH), "");
});

// What each fault must show in its recorded numbers, so that the words beside them stay true.
const FAILS = {
  "draft-cache-trimmed": [],
  "target-not-rewound": ["pairs"],
  "rows-shifted": ["first", "pairs"],
  "stale-penalties": ["pairs"],
  "drafter-at-t1": ["first", "pairs", "drafts"],
  "unfiltered-q": ["drafts"],
  "fault-residual-from-p": ["first", "pairs"],
  "fault-one-token-residual": ["first", "pairs"],
  "fault-shared-coin": ["pairs"],
  "fault-softmax-q": ["first", "pairs", "drafts"],
  "fault-raw-q": ["first", "pairs", "drafts"],
  "fault-string-match": ["first", "pairs"],
};

test("the recorded numbers show what the words say, and the healthy ones fit", () => {
  assert.deepEqual(faults.cases.map((one) => one.id).sort(), Object.keys(FAILS).sort());
  const failing = (one) => ["first", "pairs", "drafts"].filter((name) => one[name]?.fails);
  for (const [group, one] of Object.entries(faults.healthy)) assert.deepEqual(failing(one), [], group);
  for (const one of faults.cases)
    for (const name of FAILS[one.id]) assert.ok(failing(one.faulty).includes(name), `${one.id}: ${name}`);
  const by = Object.fromEntries(faults.cases.map((one) => [one.id, one.faulty]));
  const plain = faults.healthy.plain;
  assert.deepEqual(failing(by["draft-cache-trimmed"]), []);
  assert.ok(by["draft-cache-trimmed"].measured.rate < plain.measured.rate);
  assert.ok(by["draft-cache-trimmed"].by_time[2].rate < by["draft-cache-trimmed"].by_time[0].rate);
  assert.ok(!by["fault-shared-coin"].first.fails);
  assert.ok(!by["target-not-rewound"].first.fails);
  const shifted = by["rows-shifted"];
  assert.ok(shifted.tv > 0.5 && shifted.first_draft.accepted < 0.1 * shifted.first_draft.tested);
  assert.ok(!by["stale-penalties"].first.fails && by["unfiltered-q"].acceptance.fails);
  const refill = by["fault-residual-from-p"];
  assert.ok(!refill.acceptance.fails && refill.tv > by["fault-one-token-residual"].tv);
  const match = by["fault-string-match"].first_draft;
  assert.ok(match.accepted / match.tested > match.ceiling);
});
