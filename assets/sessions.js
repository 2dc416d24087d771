// The sessions in the store, newest first, re-runs under their parent.

import { el, replace, setText } from "./dom.js";
import { count } from "./format.js";
import { isLive } from "./store.js";

export function sessionList(store, actions) {
  const rows = el("ul", { class: "ds-sessionrows" });
  const empty = el("p", { class: "ds-empty" });
  const find = el("input", {
    type: "search",
    class: "ds-input",
    placeholder: "Find",
    "aria-label": "Find a session",
  });
  find.addEventListener("input", () => {
    store.dispatch({ type: "query", text: find.value });
    actions.refresh();
  });
  const root = el(
    "nav",
    { class: "ds-panel ds-sessions", "aria-label": "Sessions" },
    el("header", { class: "ds-head" }, el("h2", {}, "Sessions"), find),
    rows,
    empty,
  );
  let drawn = null;
  return {
    root,
    render(state) {
      const key = [state.list, state.focus];
      if (drawn && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      const list = nested(state.list ?? []);
      replace(
        rows,
        list.map(({ row, child }) => item(row, child, row.id === state.focus, actions)),
      );
      setText(empty, emptyText(state));
      empty.hidden = list.length > 0;
    },
  };
}

// Children right after their parent, in the order they were made; a child without its parent stands alone.
export function nested(list) {
  const ids = new Set(list.map((row) => row.id));
  const children = (id) => list.filter((row) => row.parent_id === id).sort((a, b) => a.id - b.id);
  return list
    .filter((row) => !ids.has(row.parent_id))
    .flatMap((row) => [
      { row, child: false },
      ...children(row.id).map((child) => ({ row: child, child: true })),
    ]);
}

function emptyText({ list, query }) {
  if (list === null) return "Loading…";
  return query ? "No session matches." : "No sessions yet. The first run will appear here.";
}

function item(row, child, current, actions) {
  const rate = row.per_position_acceptance;
  const kept = typeof rate === "number" ? `${Math.round(100 * rate)} % accepted` : "";
  return el(
    "li",
    { class: child ? "is-child" : null },
    el(
      "button",
      {
        type: "button",
        class: "ds-session",
        "aria-current": current ? "true" : null,
        "data-key": `session-${row.id}`,
        onclick: () => actions.open(row.id),
      },
      el(
        "span",
        { class: "ds-session-top" },
        el("b", {}, `#${row.id}`),
        el("span", { class: "ds-session-rule" }, row.rule),
        row.status === "finished" ? null : el("span", { class: `ds-status is-${row.status}` }, row.status),
      ),
      child ? null : el("span", { class: "ds-session-title" }, row.title || row.prompt || "(empty prompt)"),
      el(
        "span",
        { class: "ds-session-facts" },
        isLive(row.status) ? "" : [count(row.emitted ?? 0, "token"), kept].filter(Boolean).join(" · "),
      ),
    ),
  );
}
