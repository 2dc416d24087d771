// Data: where the sessions lie, how to take them elsewhere and bring them in, questions in SQL, many seeds.

import { el, replace, setText } from "../parts/dom.js";
import { bytes, count } from "../parts/format.js";
import { copier } from "./clipboard.js";
import { seedsPanel } from "./seeds.js";
import { sharePanel } from "./share.js";
import { sqlPanel } from "./sql_panel.js";

export function dataView(store, actions) {
  const facts = el("p", { class: "ds-facts" });
  const where = el("div", { class: "ds-datawhere" });
  const head = el(
    "section",
    { class: "ds-panel", "aria-label": "The database" },
    el("header", { class: "ds-head" }, el("h2", {}, "Your data"), facts),
    where,
  );
  // A session named here is opened under Inspect, at its start unless a round is named too.
  const inspect = (id, cursor) => {
    actions.view("inspect");
    return actions.open(id, cursor ?? { round: 0, pos: -1 });
  };
  const share = sharePanel(store, { ...actions, inspect });
  const sql = sqlPanel(store, { ...actions, inspect });
  const seeds = seedsPanel(store, actions);
  const root = el("div", { class: "ds-whole ds-data", hidden: true }, head, share.root, sql.root, seeds.root);
  let known = null; // what the source said of the database
  let asked = null; // the list it was said for

  // Asks again whenever the list of sessions has changed.
  async function look(state) {
    if (asked === state.list) return;
    asked = state.list;
    const answer = await actions.guarded(actions.data.storage);
    if (!answer) return;
    setText(facts, `${count(answer.sessions, "session")} · ${bytes(answer.bytes)} on disk`);
    if (known?.path !== answer.path || known === null) replace(where, whereText(answer.path));
    known = answer;
    share.know(answer);
    sql.know(answer);
  }

  return {
    root,
    render(state) {
      const closed = root.hidden;
      root.hidden = state.view !== "data" || !actions.data;
      if (root.hidden) return;
      if (closed) seeds.open();
      look(state);
      share.render(state);
      seeds.render(state);
    },
  };
}

function whereText(path) {
  if (path === null)
    return el(
      "p",
      { class: "ds-hint" },
      "The database lies on the machine that serves this page. Export what you want to keep.",
    );
  const file = quotedPath(path);
  return [
    el(
      "p",
      { class: "ds-hint" },
      "One SQLite file. Other programs open it as it is, also while Draftscope runs:",
    ),
    el(
      "dl",
      { class: "ds-datacommands" },
      [
        ["the file", path],
        ["to browse", `datasette ${file}`],
        ["to count", `sqlite-utils tables ${file} --counts`],
        ["to copy", `sqlite3 ${file} ".backup copy.sqlite"`],
      ].map(([name, text]) =>
        el("div", {}, el("dt", {}, name), el("dd", {}, el("code", {}, text), copier(text))),
      ),
    ),
  ];
}

// A path as a shell takes it.
export const quotedPath = (path) =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'"'"'`)}'`;
