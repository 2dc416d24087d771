// How the text is coloured, and what the colours mean.

import { el, replace } from "../parts/dom.js";
import { LEVELS, levelText, MODES } from "./modes.js";

const FATES = ["accepted", "rejected", "untested", "corrected", "bonus"];

export function modeTools(store) {
  const select = el(
    "select",
    { class: "ds-select", "aria-label": "Colour the text by", title: "Colour the text by" },
    Object.entries(MODES).map(([id, mode]) => el("option", { value: id }, mode.title)),
  );
  select.addEventListener("change", () =>
    store.dispatch({ type: "option", name: "mode", value: select.value }),
  );
  const legend = el("div", { class: "ds-legends" });
  let drawn = null;
  return {
    root: el("div", { class: "ds-modes" }, select, legend),
    render({ options: { mode } }) {
      if (mode === drawn) return;
      drawn = mode;
      select.value = mode;
      replace(legend, mode === "fate" ? fateLegend() : scaleLegend(mode));
    },
  };
}

function fateLegend() {
  return el(
    "ul",
    { class: "ds-legend", "aria-label": "Fates" },
    FATES.map((fate) => el("li", {}, el("span", { class: `ds-sample is-${fate}` }, fate))),
    el(
      "li",
      { title: "accepted although the target's own draw was another token" },
      el("span", { class: "ds-gem" }, "◆"),
      "rescued",
    ),
  );
}

// Five levels: a deeper ground and a thicker line.
function scaleLegend(mode) {
  return el(
    "ul",
    { class: "ds-legend", "aria-label": MODES[mode].says, title: MODES[mode].says },
    Array.from({ length: LEVELS }, (_, level) =>
      el("li", {}, el("span", { class: `ds-sample is-level-${level}` }, levelText(mode, level))),
    ),
  );
}
