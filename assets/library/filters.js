// What narrows and orders the session list: a fold below its head, with a choice for each facet there is.

import { el, replace, svg } from "../parts/dom.js";
import { narrowed } from "../source/shelf.js";

const FACETS = { rule: "Rule", drafter: "Drafter", target: "Model", status: "Status", tag: "Tag" };

const ORDERS = {
  newest: "newest first",
  oldest: "oldest first",
  title: "by title",
  longest: "longest first",
  acceptance: "by acceptance",
};

export function filterPanel(store, { list }) {
  const toggle = el(
    "button",
    {
      type: "button",
      class: "ds-filterbutton",
      "aria-expanded": "false",
      "aria-label": "Filter and sort sessions",
      title: "Filter and sort",
    },
    svg(
      "svg",
      { viewBox: "0 0 16 16", "aria-hidden": "true" },
      svg("path", { d: "M1.5 3h13M4 8h8M6.5 13h3" }),
    ),
  );
  const selects = el("div", { class: "ds-filterselects" });
  const starred = el("input", { type: "checkbox" });
  const clear = el(
    "button",
    { type: "button", class: "ds-link", onclick: list.clearFilters },
    "Clear filters",
  );
  const panel = el(
    "div",
    { class: "ds-filters", hidden: true, role: "group", "aria-label": "Filter and sort" },
    selects,
    el("label", { class: "ds-filtercheck" }, starred, "starred only"),
    clear,
  );
  toggle.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    toggle.setAttribute("aria-expanded", String(!panel.hidden));
  });
  starred.addEventListener("change", () => list.filter({ starred: starred.checked }));
  let drawn = "";
  return {
    toggle,
    panel,
    render({ filters, listing }) {
      toggle.classList.toggle("is-on", narrowed({ ...filters, search: "" }));
      clear.hidden = !narrowed(filters);
      starred.checked = filters.starred;
      const facets = listing?.facets ?? {};
      const key = JSON.stringify([facets, filters]);
      if (key === drawn) return;
      drawn = key;
      const choices = Object.entries(FACETS).map(([name, title]) =>
        facet(name, title, facets[name] ?? {}, filters, list),
      );
      replace(selects, choices, order(filters, list));
    },
  };
}

// A choice among the values there are; none where there is nothing to choose.
function facet(name, title, values, filters, list) {
  const chosen = filters[name];
  const names = Object.keys(values);
  if (names.length < 2 && !chosen) return null;
  const options = names.map((value) => [value, `${value || "(none)"} (${values[value]})`]);
  if (chosen && !values[chosen]) options.push([chosen, `${chosen} (0)`]);
  return labelled(
    title,
    select(name, [["", "any"], ...options], chosen, (value) => list.filter({ [name]: value })),
  );
}

function order(filters, list) {
  const options = Object.entries(ORDERS);
  return labelled(
    "Sort",
    select("order", options, filters.order, (value) => list.filter({ order: value })),
  );
}

const labelled = (title, control) => el("label", {}, el("span", {}, title), control);

function select(name, options, chosen, change) {
  const node = el(
    "select",
    { class: "ds-select", "data-key": `filter-${name}` },
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
  );
  node.addEventListener("change", () => change(node.value));
  return node;
}
