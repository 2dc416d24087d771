// The sessions in the store: found, narrowed, sorted, re-runs under their parent; each with its star and sheet.

import { button, el, replace, setText, svg } from "../parts/dom.js";
import { bytes, count } from "../parts/format.js";
import { filterPanel } from "./filters.js";
import { narrowed } from "../source/shelf.js";
import { isLive } from "../source/store.js";
import { cardLink } from "../tour/cards.js";
import { watermark } from "../tour/watermark.js";

export function sessionList(store, actions) {
  const { list } = actions;
  const rows = el("ul", { class: "ds-sessionrows" });
  const empty = el("div", { class: "ds-listempty" });
  const more = button("Show more", { class: "ds-button is-small", onclick: list.more });
  const facts = el("p", { class: "ds-listfacts" });
  const find = el("input", {
    type: "search",
    class: "ds-input",
    placeholder: "Find",
    "aria-label": "Find a session",
  });
  find.addEventListener("input", () => list.search(find.value));
  const filters = filterPanel(store, actions);
  const tour = button("Tour", {
    class: "ds-link",
    title: "Ten cards on what happens here",
    onclick: () => actions.goTo(cardLink(1), true),
  });
  const demo = button("Recorded demo", { class: "ds-link", onclick: () => actions.openDemo?.() });
  const root = el(
    "nav",
    { class: "ds-panel ds-sessions", "aria-label": "Sessions" },
    el("header", { class: "ds-head" }, el("h2", {}, "Sessions"), find, filters.toggle),
    filters.panel,
    rows,
    empty,
    more,
    el("footer", { class: "ds-listfoot" }, facts, actions.canTour ? tour : null, demo),
  );
  let drawn = null;
  return {
    root,
    render(state) {
      filters.render(state);
      const key = [state.list, state.focus, state.listFailed, state.filters, state.listing];
      if (drawn && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      if (find.value !== state.filters.search && document.activeElement !== find)
        find.value = state.filters.search;
      const shown = nested(state.list ?? []);
      replace(
        rows,
        shown.map(({ row, depth }) => item(row, depth, row.id === state.focus, list, actions)),
      );
      replace(empty, emptyState(state, list, actions));
      empty.hidden = shown.length > 0;
      rows.hidden = shown.length === 0;
      more.hidden = (state.listing?.total ?? 0) <= shown.length;
      setText(facts, factsText(state));
      demo.hidden = !actions.openDemo || shown.some(({ row }) => row.recorded) || shown.length === 0;
    },
  };
}

// Children right after their parent, in the order they were made, theirs right after them; a child without its
// parent stands alone. `depth` counts the parents that are in the list.
export function nested(list) {
  const ids = new Set(list.map((row) => row.id));
  const children = (id, depth) =>
    list
      .filter((row) => row.parent_id === id)
      .sort((a, b) => Math.abs(a.id) - Math.abs(b.id))
      .flatMap((row) => [{ row, depth }, ...children(row.id, depth + 1)]);
  return list
    .filter((row) => row.parent_id === null || !ids.has(row.parent_id))
    .flatMap((row) => [{ row, depth: 0 }, ...children(row.id, 1)]);
}

// "3 of 41 sessions · 4.2 MB"
export function factsText({ list, listing, filters }) {
  if (!listing || list === null || listing.all === 0) return "";
  const number = narrowed(filters)
    ? `${listing.total} of ${count(listing.all, "session")}`
    : count(listing.all, "session");
  return listing.bytes === null ? number : `${number} · ${bytes(listing.bytes)} on disk`;
}

function emptyState(state, list, actions) {
  if (state.listFailed) {
    return [
      el("p", {}, "The list could not be read."),
      button("Try again", { class: "ds-button is-small", onclick: list.refresh }),
    ];
  }
  if (state.list === null) return skeleton();
  if (narrowed(state.filters)) {
    return [
      el("p", {}, "No session matches."),
      button("Clear filters", { class: "ds-button is-small", onclick: list.clearFilters }),
    ];
  }
  return [
    el("p", {}, "No sessions yet. Ask something above and press Run; every run is kept here."),
    actions.openDemo
      ? button("Open the recorded demo", { class: "ds-button is-small", onclick: actions.openDemo })
      : null,
  ];
}

// Grey lines where the rows will be, so that nothing jumps when they come.
function skeleton() {
  return el(
    "div",
    { class: "ds-skeleton", role: "status", "aria-label": "Loading sessions" },
    [70, 90, 55, 80].map((width) => el("i", { style: { width: `${width}%` } })),
  );
}

// Each step into the tree is a step to the right; beyond the fourth there is no room.
const indent = (depth) => (depth > 1 ? { paddingLeft: `${12 * Math.min(depth - 1, 4)}px` } : {});

function item(row, depth, current, list, actions) {
  const child = depth > 0;
  return el(
    "li",
    { class: child ? "is-child" : null, "data-depth": depth || null, style: indent(depth) },
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
        el("b", {}, row.recorded ? "Demo" : `#${row.id}`),
        el("span", { class: "ds-session-rule" }, row.rule),
        badge(row),
      ),
      child && !row.title
        ? null
        : el("span", { class: "ds-session-title" }, row.title || row.prompt || "(empty prompt)"),
      watermark(row),
      factsLine(row),
      row.tags?.length
        ? el(
            "span",
            { class: "ds-tags" },
            row.tags.map((tag) => el("span", {}, tag)),
          )
        : null,
    ),
    row.recorded || !list.canChange ? null : tools(row, list),
  );
}

// One word where a session is not simply finished.
function badge(row) {
  if (row.recorded) return row.parent_id === null ? el("span", { class: "ds-flag" }, "recorded") : null;
  if (row.status !== "finished")
    return el("span", { class: `ds-status is-${row.status}`, title: row.end_reason || null }, row.status);
  if (row.imported) return el("span", { class: "ds-flag", title: `imported ${row.imported}` }, "imported");
  return row.relation === "branch" ? el("span", { class: "ds-flag" }, `branch at ${row.branch_at}`) : null;
}

function factsLine(row) {
  if (isLive(row.status)) return null;
  if (row.status === "failed" && row.end_reason)
    return el("span", { class: "ds-session-facts is-failed" }, row.end_reason);
  const rate = row.per_position_acceptance;
  const tested = row.positions_tested;
  const kept = typeof rate === "number" ? `${Math.round(100 * rate)} % of ${tested ?? "its"} tests` : "";
  const text = [count(row.emitted ?? 0, "token"), kept].filter(Boolean).join(" · ");
  return el(
    "span",
    {
      class: "ds-session-facts",
      title: tested ? `${row.accepted} of ${tested} tested drafts accepted` : null,
    },
    text,
  );
}

function tools(row, list) {
  const name = `session ${row.id}`;
  return el(
    "span",
    { class: "ds-rowtools" },
    el(
      "button",
      {
        type: "button",
        class: "ds-star",
        "aria-pressed": String(row.starred),
        "aria-label": `Star ${name}`,
        title: row.starred ? "Take the star away (s)" : "Star (s)",
        "data-key": `star-${row.id}`,
        onclick: () => list.star(row.id),
      },
      svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: STAR })),
    ),
    el(
      "button",
      {
        type: "button",
        class: "ds-moretools",
        "aria-label": `Title, tags, note and more of ${name}`,
        title: "Title, tags, note, use its settings, delete",
        "data-key": `more-${row.id}`,
        onclick: () => list.sheet(row.id),
      },
      svg(
        "svg",
        { viewBox: "0 0 16 16", "aria-hidden": "true" },
        [3, 8, 13].map((cx) => svg("circle", { cx, cy: 8, r: 1.5 })),
      ),
    ),
  );
}

const STAR = "M8 1.6l1.95 4.1 4.45.6-3.25 3.1.8 4.45L8 11.7l-3.95 2.15.8-4.45L1.6 6.3l4.45-.6z";
