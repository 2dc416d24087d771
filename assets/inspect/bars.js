// p and q of the selected position, one row a token: the shared part min(p, q), what only q has (thrown
// away on a rejection) and what only p has (what the residual refills). Both excess areas sum to TV.

import { branchLine } from "../data/branch.js";
import { el, numberHead, replace, tableHead, tokenText } from "../parts/dom.js";
import { decimal, percent, spoken } from "../parts/format.js";
import { ROWS } from "../source/look.js";
import { revealed } from "./stages.js";
import { selected } from "../source/store.js";

const FLOOR = 1e-5;

// A pane: { tools, root, render(state, visible) }.
export function barsPane(store, actions = {}) {
  const note = el("p", { class: "ds-note" });
  const body = el("div", { class: "ds-bars-body" });
  const set = (name, value) => store.dispatch({ type: "option", name, value });
  const scale = el("button", {
    type: "button",
    class: "ds-button is-small",
    onclick: () => set("log", !store.get().options.log),
  });
  const rows = el(
    "select",
    {
      class: "ds-select",
      "aria-label": "Rows shown",
      onchange: () => set("bars", Number(rows.value)),
    },
    ROWS.map((n) => el("option", { value: n }, `${n} rows`)),
  );
  const tools = el("div", { class: "ds-tools" }, scale, rows);
  const branch = branchLine(store, actions);
  const root = el("div", { class: "ds-bars" }, note, branch.root, body);
  let drawn = null;
  const picker = () => (branch.open() ? { chosen: branch.chosen(), pick: branch.pick } : null);
  return {
    tools,
    root,
    render(state, visible) {
      const { session, round, position, next } = selected(state);
      const { log, bars } = state.options;
      const key = round
        ? [
            session.id,
            session.head,
            round.i,
            round.wide,
            state.cursor.pos,
            state.stage,
            log,
            bars,
            state.tables,
          ].join("/")
        : "";
      if (!visible || key === drawn) return;
      drawn = key;
      scale.textContent = log ? "log scale" : "linear scale";
      scale.setAttribute("aria-pressed", String(log));
      rows.value = String(bars);
      if (!round) return;
      const corrected = next && round.accepted < round.k;
      const place = position ?? (corrected ? round.positions[round.accepted] : next);
      const seen = revealed(round, state.stage);
      const shown = seen.target ? place : withoutTarget(place);
      const marks = chosenTokens(round, place, seen);
      const view = state.tables ? numbersTable : table;
      branch.move(session, place);
      const draw = () => replace(body, view(session, shown, marks, { log, n: bars, picker: picker() }));
      branch.onChange(draw);
      draw();
      replace(note, noteOf(shown, seen));
    },
  };
}

// Before the target's pass there is no p: q alone, in its own order.
function withoutTarget(place) {
  const bars = place.bars
    .filter(([, , q]) => q)
    .map(([token, , q]) => [token, null, q])
    .sort((one, other) => other[2] - one[2]);
  return { ...place, bars, rest: [null, place.rest[1], place.rest[2]], early: true };
}

// The tokens a row is marked for: the draft, the target's own draw, what was emitted in its place.
function chosenTokens(round, place, seen) {
  const marks = new Map();
  const add = (token, word) => marks.set(token, [...(marks.get(token) ?? []), word]);
  if (place.x !== undefined) add(place.x, "draft");
  if (place.fate === "rejected" && round.next && seen.next) add(round.next.token, round.next.source);
  if (place.token !== undefined) add(place.token, place.source);
  if (place.own && seen.target) add(place.own.token, "own draw");
  return marks;
}

function visibleBars(place, marks, n) {
  const isCut = ([, p, q]) => p === 0 && !q; // a p of null was not kept: it may be anything
  const kept = place.bars.filter((bar) => !isCut(bar));
  const cut = place.bars.filter(isCut);
  const shown = kept.slice(0, n);
  for (const bar of kept.slice(n)) if (marks.has(bar[0])) shown.push(bar);
  const hidden = kept.filter((bar) => !shown.includes(bar));
  const sum = (column) => hidden.reduce((total, bar) => total + (bar[column] ?? 0), 0);
  const rest = {
    p: place.rest[0] === null ? null : place.rest[0] + sum(1),
    q: place.rest[1] === null ? null : place.rest[1] + sum(2),
  };
  return { shown, cut: cut.slice(0, Math.max(2, Math.round(n / 4))), rest };
}

// A token's name in its row: a button where another token can be branched to.
function rowName(session, token, picker) {
  const text = tokenText(session.pieces[token], 14);
  if (!picker) return text;
  return el(
    "button",
    {
      type: "button",
      class: "ds-rowpick",
      "aria-pressed": String(picker.chosen === token),
      "aria-label": `Choose ${spoken(session.pieces[token])} for a branch`,
      "data-key": `pick-${token}`,
      onclick: () => picker.pick(token),
    },
    text,
  );
}

function table(session, place, marks, { log, n, picker }) {
  const { shown, cut, rest } = visibleBars(place, marks, n);
  const top = log
    ? 1
    : nice(Math.max(...shown.flatMap(([, p, q]) => [p ?? 0, q ?? 0]), rest.p ?? 0, rest.q ?? 0));
  const length = (value) => {
    if (!value) return 0;
    return log ? Math.max(0, Math.log10(value / FLOOR) / -Math.log10(FLOOR)) : value / top;
  };
  const scaled = (p, q) =>
    place.early ? earlyBar(length(q)) : bar(length(p), q === null ? null : length(q));
  const targetText = (p) => (place.early ? "not yet" : percent(p));
  const drafted = rest.q !== null;
  const greedy = place.entropy[0] === 0;
  const line = (className, name, p, q, words, titleText, before = null) =>
    el(
      "tr",
      { class: className, title: titleText },
      el("th", { scope: "row" }, name, words ? el("span", { class: "ds-mark" }, words) : null),
      el("td", { class: "ds-bar-cell" }, scaled(p, drafted ? q : null), before && beforeBar(length(before))),
      el("td", { class: "ds-number" }, targetText(p)),
      drafted ? el("td", { class: "ds-number is-q" }, percent(q)) : null,
    );
  return el(
    "table",
    { class: "ds-pqtable" },
    tableHead([
      "token",
      [axis(log, top), { class: "ds-axis" }],
      numberHead("target p"),
      drafted ? numberHead("draft q") : null,
    ]),
    el(
      "tbody",
      {},
      shown.map(([token, p, q, rawP]) =>
        line(
          marks.has(token) ? "is-marked" : null,
          rowName(session, token, picker),
          p,
          q,
          marks.get(token)?.join(", "),
          `id ${token}${rawP === undefined || rawP === null ? "" : `; target before temperature and filters ${percent(rawP)}`}`,
          greedy ? rawP : null,
        ),
      ),
      hasRest(rest)
        ? line("is-rest", "rest of vocabulary", rest.p, rest.q, "", "every token that is not listed")
        : null,
      cut.map(([token, , , rawP, rawQ]) => cutLine(session, token, rawP, rawQ, length, drafted, picker)),
    ),
  );
}

// Less than this is the rounding of a sum.
const hasRest = ({ p, q }) => (p ?? 0) > 1e-12 || (q ?? 0) > 1e-12;

// The same as numbers alone, for those who would rather read than measure.
function numbersTable(session, place, marks, { n, picker }) {
  const { shown, cut, rest } = visibleBars(place, marks, n);
  const both = (p, q) => p !== null && q !== null && q !== undefined;
  const cells = (p, q) => [
    place.early ? "not yet" : percent(p),
    q === null ? "–" : percent(q),
    both(p, q) ? percent(Math.min(p, q)) : "–",
    both(p, q) ? decimal(p - q) : "–",
    both(p, q) && q > 0 ? decimal(p / q) : "–",
  ];
  const line = (name, word, id, values, className = null) =>
    el(
      "tr",
      { class: className },
      el("th", { scope: "row" }, name, word ? el("span", { class: "ds-mark" }, word) : null),
      el("td", { class: "ds-number" }, id),
      values.map((value) => el("td", { class: "ds-number" }, value)),
    );
  const one = ([token, p, q], word, className) =>
    line(rowName(session, token, picker), word, String(token), cells(p, q), className);
  return el(
    "table",
    { class: "ds-pqtable is-numbers" },
    tableHead(["token", ...["id", "target p", "draft q", "min(p, q)", "p − q", "p/q"].map(numberHead)]),
    el(
      "tbody",
      {},
      shown.map((bar) => one(bar, marks.get(bar[0])?.join(", "), marks.has(bar[0]) ? "is-marked" : null)),
      hasRest(rest) ? line("rest of vocabulary", "", "", cells(rest.p, rest.q), "is-rest") : null,
      cut.map((bar) => one(bar, "cut", "is-cut")),
    ),
  );
}

function cutLine(session, token, rawP, rawQ, length, drafted, picker) {
  return el(
    "tr",
    { class: "is-cut", title: `id ${token}: removed by a filter; the grey bar is the probability before it` },
    el("th", { scope: "row" }, rowName(session, token, picker), el("span", { class: "ds-mark" }, "cut")),
    el(
      "td",
      { class: "ds-bar-cell" },
      el(
        "div",
        { class: "ds-bar" },
        el("i", { class: "ds-raw", style: { width: width(length(Math.max(rawP ?? 0, rawQ ?? 0))) } }),
      ),
    ),
    el("td", { class: "ds-number" }, rawText(rawP)),
    drafted ? el("td", { class: "ds-number is-q" }, rawText(rawQ)) : null,
  );
}

// Raw rows keep their top part only: a token outside it has no number to show.
const rawText = (value) => (value === null || value === undefined ? "–" : percent(value));

const width = (share) => `${(100 * Math.min(1, share)).toFixed(2)}%`;

function bar(p, q) {
  if (q === null)
    return el(
      "div",
      { class: "ds-bar" },
      el("i", { class: "ds-shared", style: { width: width(p) } }),
      el("i", { class: "ds-outline", style: { width: width(p) } }),
    );
  const low = Math.min(p, q);
  const high = Math.max(p, q);
  return el(
    "div",
    { class: "ds-bar" },
    el("i", { class: "ds-shared", style: { width: width(low) } }),
    high > low
      ? el("i", {
          class: q > p ? "ds-only-q" : "ds-only-p",
          style: { left: width(low), width: width(high - low) },
        })
      : null,
    p > 0 ? el("i", { class: "ds-outline", style: { width: width(p) } }) : null,
  );
}

const earlyBar = (q) =>
  el("div", { class: "ds-bar" }, el("i", { class: "ds-early", style: { width: width(q) } }));

// Under a one-hot row: the softmax it was taken from.
const beforeBar = (share) =>
  el("div", { class: "ds-bar is-over" }, el("i", { class: "ds-before", style: { width: width(share) } }));

function nice(largest) {
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8].find((top) => largest <= top) ?? 1;
}

function axis(log, top) {
  const ticks = log
    ? ["0.001 %", "1 %", "100 %"]
    : ["0", percent(top / 2).replace(".0\u00a0", "\u00a0"), percent(top).replace(".0\u00a0", "\u00a0")];
  return el(
    "div",
    { class: "ds-ticks" },
    ticks.map((tick) => el("span", {}, tick)),
  );
}

function noteOf(place, seen) {
  if (!seen.target) return [el("span", {}, "The draft's q alone: the target has not read this block yet.")];
  const swatch = (name) => el("i", { class: `ds-swatch ${name}`, "aria-hidden": "true" });
  const raw = place.bars[0]?.length > 3 ? el("span", {}, swatch("ds-raw"), "before T and filters") : null;
  if (place.tv === undefined) return [el("span", {}, "Nothing was drafted here: p alone."), raw];
  const { tv, overlap } = place;
  return [
    el("span", {}, swatch("ds-shared"), `shared ${decimal(overlap)}`),
    el("span", {}, swatch("ds-only-q"), `draft only ${decimal(tv)}`),
    el("span", {}, swatch("ds-only-p"), `target only ${decimal(tv)}`),
    raw,
  ];
}
