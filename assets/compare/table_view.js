// Lanes in numbers: a column a lane, the baseline leftmost; best values marked where they are told apart.

import { button, el, tableHead } from "../parts/dom.js";
import { decimal, milliseconds, percent } from "../parts/format.js";
import { save } from "./save.js";
import { asCsv, asMarkdown, best } from "./table.js";

const MS = new Set(["ms_per_token", "draft_ms", "target_ms", "judge_ms"]);
const SHARES = new Set(["per_position_acceptance", "expected_acceptance", "sum_min", "rescued"]);

export function numbersTable(lanes, state, actions) {
  const lines = lanes.map(({ id }) => state.lines[id] ?? null);
  const ready = lines.every(Boolean) && state.columns.length > 0;
  const names = lanes.map(({ name }) => name);
  const marks = ready ? best(state.columns, lines) : {};
  const out = (kind, type, make) =>
    button(`Export as ${kind === "csv" ? "CSV" : "Markdown"}`, {
      class: "ds-button is-small",
      disabled: !ready,
      "data-key": `export-${kind}`,
      onclick: () => save(`draftscope-compare-${lanes[0].id}.${kind}`, type, make()),
    });
  return [
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "In numbers"),
      el("p", { class: "ds-facts" }, "one session each: to say how surely rules differ, compare many seeds"),
      el(
        "span",
        { class: "ds-exports" },
        out("csv", "text/csv", () => asCsv(state.columns, lines)),
        out("md", "text/markdown", () => asMarkdown(state.columns, lines, names)),
      ),
    ),
    ready || lines.some(Boolean)
      ? table(lanes, lines, marks, state, actions)
      : el("p", { class: "ds-empty" }, waiting(lanes)),
  ];
}

const waiting = (lanes) =>
  lanes.some(({ session }) => session.head?.recorded) ? "This recording holds no table." : "Counting…";

function table(lanes, lines, marks, state, actions) {
  return el(
    "div",
    { class: "ds-numbersbox", tabindex: "0", role: "region", "aria-label": "Table of lanes" },
    el(
      "table",
      { class: "ds-table ds-numbers" },
      tableHead(["", ...lanes.map((lane, i) => laneHead(lane, i, state))]),
      el(
        "tbody",
        {},
        state.columns.map((column) => numberRow(column, lines, marks[column.id], lanes, actions)),
        el(
          "tr",
          {},
          el("th", { scope: "row", title: "Rounds that accepted 0, 1, 2, … drafts" }, "accepted lengths"),
          lines.map(lengthsCell),
        ),
      ),
    ),
  );
}

function numberRow(column, lines, mark, lanes, actions) {
  const why = mark?.why ?? "";
  return el(
    "tr",
    { "data-column": column.id },
    el(
      "th",
      { scope: "row", title: column.meaning },
      column.title,
      why
        ? el(
            "small",
            { class: "ds-notbest", title: why },
            why.startsWith("all") ? "all equal" : "not told apart",
          )
        : null,
    ),
    lines.map((line, i) => cell(column, line, mark?.lanes.includes(i) ?? false, lanes[i], actions)),
  );
}

function cell(column, line, isBest, lane, actions) {
  const found = line?.cells[column.id];
  if (!found || found.value === null)
    return el("td", { title: found?.why || null, class: "is-missing" }, "–");
  const write = writer(column.id);
  const value = el(
    isBest ? "strong" : "span",
    { class: isBest ? "is-best" : null, title: isBest ? "best, and told apart from all others" : null },
    write(found.value),
  );
  const interval = found.low === null ? null : el("small", {}, `${write(found.low)} to ${write(found.high)}`);
  return el(
    "td",
    { title: found.n ? `n = ${found.n}` : null },
    column.id === "law_tv_max" && line.worst ? place(value, line, lane, actions) : value,
    interval,
  );
}

// The worst position is one click away.
function place(value, { worst }, lane, actions) {
  if (lane.judged) return value;
  return el(
    "button",
    {
      type: "button",
      class: "ds-link",
      title: `round ${worst.round}, draft ${worst.pos + 1}: go there`,
      onclick: () => actions.open(lane.id, worst),
    },
    value,
  );
}

function writer(id) {
  if (MS.has(id)) return milliseconds;
  return SHARES.has(id) ? percent : decimal;
}

function lengthsCell(line) {
  if (!line) return el("td", {}, "–");
  const most = Math.max(1, ...line.lengths);
  const words = line.lengths.map((n, i) => `${i}: ${n}`).join(", ");
  return el(
    "td",
    {},
    el(
      "span",
      { class: "ds-lengths", role: "img", "aria-label": `rounds by accepted drafts: ${words}`, title: words },
      line.lengths.map((n) => el("i", { style: { height: `${Math.round((26 * n) / most)}px` } })),
    ),
  );
}

const laneHead = ({ name, id, judged }, i, state) => [
  [el("b", {}, String(i + 1)), ` ${name}`, judged ? el("small", {}, " re-judged") : null],
  { class: id === state.focus ? "is-current" : null },
];
