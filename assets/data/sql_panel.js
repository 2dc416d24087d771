// A question in SQL to the database, which it cannot change. Ten to start from; Ctrl+Enter asks.

import { button, el, numberHead, replace, setText, tableHead } from "../parts/dom.js";
import { count } from "../parts/format.js";
import { csv, opens } from "./answers.js";
import { copied } from "./clipboard.js";

const SHOWN = 200; // rows drawn at first; the rest on demand

export function sqlPanel(store, actions) {
  const menu = el("select", { class: "ds-select", "aria-label": "A question to start from" });
  const text = el("textarea", {
    class: "ds-input ds-sqltext",
    rows: 6,
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "A question in SQL",
  });
  const ask = button("Ask", { class: "ds-button is-primary", title: "Ctrl+Enter" });
  const limits = el("span", { class: "ds-hint" });
  const said = el("span", { class: "ds-hint", role: "status" });
  const copy = button("Copy as CSV", { class: "ds-button is-small", hidden: true });
  const result = el("div", { class: "ds-sqlresult", tabindex: 0, role: "region", "aria-label": "Answer" });
  const more = button("Show all rows", { class: "ds-button is-small", hidden: true });
  const root = el(
    "section",
    { class: "ds-panel ds-sql", "aria-label": "Ask in SQL" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Ask in SQL"),
      el("p", { class: "ds-facts" }, "read-only"),
      menu,
    ),
    text,
    el("div", { class: "ds-actions" }, ask, limits, el("span", { class: "ds-spring" }), said, copy),
    result,
    more,
  );
  let queries = null;
  let answer = null;
  result.hidden = true;

  async function run() {
    if (ask.disabled) return;
    ask.disabled = true;
    setText(said, "Asking…");
    try {
      answer = await actions.data.sql(text.value);
      setText(said, factsOf(answer));
      draw(SHOWN);
    } catch (error) {
      answer = null;
      setText(said, "");
      replace(result, refusal(error));
    }
    result.hidden = false;
    copy.hidden = !answer?.rows.length;
    more.hidden = !answer || answer.rows.length <= SHOWN;
    ask.disabled = false;
  }

  function draw(most) {
    replace(
      result,
      answer.rows.length
        ? answerTable(answer, most, actions.inspect)
        : el("p", { class: "ds-hint" }, "No rows."),
    );
  }

  ask.addEventListener("click", run);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  menu.addEventListener("change", () => {
    if (menu.value !== "") text.value = queries[Number(menu.value)].sql;
  });
  text.addEventListener("input", () => (menu.value = ""));
  more.addEventListener("click", () => {
    draw(Infinity);
    more.hidden = true;
  });
  copy.addEventListener("click", async () => setText(said, await copied(csv(answer))));

  return {
    root,
    know(known) {
      setText(
        limits,
        `Ctrl+Enter; an answer ends after ${known.limits.seconds} s or ${known.limits.rows} rows`,
      );
      if (queries) return;
      queries = known.queries;
      replace(
        menu,
        el("option", { value: "" }, "your own"),
        queries.map(({ title }, i) => el("option", { value: i }, title)),
      );
      menu.value = "0";
      text.value = queries[0].sql;
    },
  };
}

const factsOf = ({ rows, truncated, ms }) =>
  `${truncated ? `the first ${count(rows.length, "row")}` : count(rows.length, "row")} in ${ms < 10 ? ms : Math.round(ms)} ms`;

const refusal = (error) =>
  el("p", { class: "ds-refusal", role: "alert" }, el("b", {}, error.message), " ", error.hint ?? "");

function answerTable(answer, most, open) {
  const numeric = answer.columns.map((_, i) =>
    answer.rows.every((row) => row[i] === null || typeof row[i] === "number"),
  );
  return el(
    "table",
    { class: "ds-table ds-answer" },
    tableHead(answer.columns.map((name, i) => (numeric[i] ? numberHead(name) : [name]))),
    el(
      "tbody",
      {},
      answer.rows.slice(0, most).map((row) =>
        el(
          "tr",
          {},
          row.map((value, i) =>
            el("td", { class: numeric[i] ? "ds-number" : null }, cell(answer, row, i, value, open)),
          ),
        ),
      ),
    ),
  );
}

function cell(answer, row, i, value, open) {
  if (value === null) return el("span", { class: "ds-null" }, "null");
  const place = opens(answer.columns, row, i);
  if (!place) return String(value);
  const title = place.cursor
    ? `Open session ${place.session} at round ${place.cursor.round}`
    : `Open session ${place.session}`;
  return button(String(value), {
    class: "ds-link",
    title,
    onclick: () => open(place.session, place.cursor),
  });
}
