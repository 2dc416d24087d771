// What stands under the round, one pane at a time: p and q, the rules on these drafts, the laws of this place.

import { button, el, setText } from "../parts/dom.js";
import { barsPane } from "./bars.js";
import { lawsPane } from "./laws_panel.js";
import { dissenters } from "./matrix.js";
import { matrixPane } from "./matrix_panel.js";
import { selected } from "../source/store.js";

export function underPanel(store, actions) {
  const panes = { bars: barsPane(store, actions), rules: matrixPane(store), laws: lawsPane(store, actions) };
  const titles = { bars: "p and q", rules: "Rules on these drafts", laws: "Law meter" };
  const count = el("span", { class: "ds-tabcount" });
  const tabs = Object.entries(titles).map(([id, title]) =>
    button([title, id === "rules" ? count : null].filter(Boolean), {
      class: "ds-tab",
      id: `ds-tab-${id}`,
      role: "tab",
      "aria-controls": "ds-under",
      "data-pane": id,
      onclick: () => store.dispatch({ type: "set", values: { pane: id } }),
    }),
  );
  const tools = el(
    "div",
    { class: "ds-tools" },
    Object.values(panes).map((pane) => pane.tools),
  );
  const bar = el("div", { class: "ds-tabs", role: "tablist", "aria-label": "Under the round" }, tabs);
  const body = el(
    "div",
    { id: "ds-under", role: "tabpanel" },
    Object.values(panes).map((pane) => pane.root),
  );
  const root = el(
    "section",
    { class: "ds-panel ds-under", "aria-label": "Under the round" },
    el("header", { class: "ds-head" }, bar, el("span", { class: "ds-spring" }), tools),
    body,
  );
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = tabs[(tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  return {
    root,
    render(state) {
      const { round, session } = selected(state);
      root.hidden = !round;
      const screen = root.closest(".ds");
      if (screen) screen.dataset.pane = state.pane;
      const rules = state.choices?.rules ?? [];
      const n = round ? dissenters(round, rules, session.head?.rule).length : 0;
      setText(count, round?.matrix?.length && n ? String(n) : "");
      count.title = `${n} rules would leave this round with another outcome`;
      tabs.forEach((tab) => {
        const on = tab.dataset.pane === state.pane;
        tab.setAttribute("aria-selected", String(on));
        tab.tabIndex = on ? 0 : -1;
      });
      body.setAttribute("aria-labelledby", `ds-tab-${state.pane}`);
      Object.entries(panes).forEach(([id, pane]) => {
        const on = id === state.pane;
        pane.root.hidden = pane.tools.hidden = !on;
        pane.render(state, on && Boolean(round));
      });
    },
  };
}
