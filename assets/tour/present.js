// Presenting: one panel at a time over the whole window, in large type. The same panels and the same state, so
// every step has a link of its own.

import { button, el, setText } from "../parts/dom.js";
import { selected } from "../source/store.js";

// In the order of their keys. `view` and `pane` are what the panel needs to be on.
export const PANELS = [
  { id: "text", title: "Text", view: "inspect" },
  { id: "round", title: "Round", view: "inspect" },
  { id: "decision", title: "Decision", view: "inspect" },
  { id: "bars", title: "p and q", view: "inspect", pane: "bars" },
  { id: "rules", title: "Rules", view: "inspect", pane: "rules" },
  { id: "laws", title: "Law meter", view: "inspect", pane: "laws" },
  { id: "compare", title: "Compare", view: "compare" },
  { id: "lab", title: "Lab", view: "lab", free: true },
  { id: "faults", title: "Faults", view: "faults", free: true },
];

export const presented = (id) => PANELS.find((panel) => panel.id === id)?.id ?? null;

export function presentPane(store, actions, signal) {
  const offered = PANELS.filter(({ id, free }) => !free || actions.offers(id));
  const place = el("p", { class: "ds-presentplace", role: "status" });
  const tabs = offered.map((panel) =>
    button([el("kbd", {}, String(PANELS.indexOf(panel) + 1)), ` ${panel.title}`], {
      class: "ds-tab",
      "data-panel": panel.id,
      onclick: () => present(panel.id),
    }),
  );
  const step = (name, text, label) =>
    button(text, { class: "ds-button", "aria-label": label, title: label, onclick: () => actions.run(name) });
  const root = el(
    "div",
    { class: "ds-presentbar", role: "toolbar", "aria-label": "Presenting", hidden: true },
    step("stepBack", "←", "One step back (←)"),
    step("stepOn", "→", "One step on (→)"),
    place,
    el("div", { class: "ds-tabs" }, tabs),
    button("Leave (Esc)", { class: "ds-button", onclick: () => present(null) }),
  );

  function present(id) {
    const panel = PANELS.find((one) => one.id === id);
    if (panel && panel.view !== store.get().view) actions.view(panel.view);
    if (panel?.pane) store.dispatch({ type: "set", values: { pane: panel.pane } });
    store.dispatch({ type: "set", values: { present: id, help: false } });
    if (!panel) root.closest(".ds")?.querySelector(".ds-presentbutton")?.focus();
  }

  // Before the screen's own keys: here 1 to 9 are panels, and Esc leaves unless something is open.
  document.addEventListener(
    "keydown",
    (event) => {
      const state = store.get();
      if (!state.present || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.composedPath().some((node) => node.matches?.("input,textarea,select,dialog"))) return;
      const panel = offered.find((one) => String(PANELS.indexOf(one) + 1) === event.key);
      const closes = event.key === "Escape" && state.suppose === null && !state.pinned && !state.help;
      if (!panel && !closes) return;
      event.preventDefault();
      present(panel ? panel.id : null);
    },
    { signal, capture: true },
  );

  return {
    root,
    present,
    render(state) {
      const screen = root.closest(".ds");
      const on = presented(state.present);
      if (screen) screen.dataset.present = on ?? "";
      document.documentElement.classList.toggle("ds-presenting", on !== null);
      root.hidden = on === null;
      if (on === null) return;
      tabs.forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.panel === on)));
      const { round } = selected(state);
      setText(place, round ? `round ${round.i}` : "");
    },
  };
}
