// p and q as bars that one drags, the part they share, and the two excesses, which are equal.

import { button, el, replace, setText } from "../parts/dom.js";
import { percent } from "../parts/format.js";
import { overlap, tv } from "./rows.js";
import { at, slidable } from "./slide.js";
import { addToken, FEWEST, MOST, preset, presetOf, PRESETS, removeToken, rename, setProb } from "./state.js";

const SIDES = { p: "the target wants", q: "the drafter says" };

export function rowsPanel(lab) {
  const chips = PRESETS.map((one) =>
    button(one.title, {
      class: "ds-button is-small",
      title: one.says,
      "data-preset": one.id,
      onclick: () => lab.change(preset(lab.get(), one)),
    }),
  );
  const says = el("p", { class: "ds-hint ds-lab-says", role: "status" });
  const list = el("div", { class: "ds-lab-rows" });
  const add = button("Add a token", {
    class: "ds-button is-small",
    onclick: () => lab.change(addToken(lab.get())),
  });
  const areas = areasOf();
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel", id: "ds-lab-rows", "aria-label": "p and q" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Two opinions on the next word"),
      el(
        "p",
        { class: "ds-facts" },
        "drag a bar, or use the arrow keys; the others of that side make room, so its sum stays 1",
      ),
    ),
    el("div", { class: "ds-lab-chips", role: "group", "aria-label": "Examples" }, chips),
    says,
    el(
      "div",
      { class: "ds-lab-rowsgrid" },
      el(
        "div",
        {},
        el(
          "div",
          { class: "ds-lab-row is-head", "aria-hidden": "true" },
          el("span", {}, "token"),
          el("span", {}, el("b", {}, "p"), " what the target wants"),
          el("span", {}, el("b", {}, "q"), " what the drafter says"),
          el("span", {}),
        ),
        list,
        el("div", { class: "ds-lab-tools" }, add),
      ),
      areas.root,
    ),
  );
  let lines = [];
  return {
    root,
    render(state) {
      if (lines.length !== state.names.length) {
        lines = state.names.map((_, i) => tokenLine(lab, i));
        replace(
          list,
          lines.map((line) => line.root),
        );
      }
      lines.forEach((line) => line.render(state));
      add.disabled = state.names.length >= MOST;
      const known = presetOf(state);
      chips.forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.preset === known?.id)));
      setText(says, known ? `${known.title}: ${known.says}.` : "Your own pair.");
      areas.render(state);
    },
  };
}

function tokenLine(lab, i) {
  const name = el("input", {
    class: "ds-input ds-lab-name",
    maxlength: 12,
    "aria-label": `Name of token ${i + 1}`,
    oninput: () => lab.change(rename(lab.get(), i, name.value || `t${i}`)),
  });
  const remove = button("×", {
    class: "ds-button is-quiet",
    onclick: () => lab.change(removeToken(lab.get(), i)),
  });
  const sides = Object.keys(SIDES).map((side) => bar(lab, side, i));
  const root = el(
    "div",
    { class: "ds-lab-row" },
    name,
    sides.map((one) => one.root),
    remove,
  );
  return {
    root,
    render(state) {
      if (document.activeElement !== name) name.value = state.names[i];
      remove.disabled = state.names.length <= FEWEST;
      remove.setAttribute("aria-label", `Remove ${state.names[i]}`);
      sides.forEach((one) => one.render(state));
    },
  };
}

function bar(lab, side, i) {
  const shared = el("i", { class: "ds-lab-fill ds-shared" });
  const excess = el("i", { class: `ds-lab-fill ds-only-${side}` });
  const handle = el("i", { class: "ds-lab-handle" });
  const line = el("div", { class: "ds-lab-bar" }, shared, excess, handle);
  const number = el("span", { class: "ds-number" });
  const root = el("div", { class: "ds-lab-side" }, line, number);
  let from = null; // the row when a drag began
  line.addEventListener("pointerdown", () => (from = lab.get()[side]));
  line.addEventListener("lostpointercapture", () => (from = null));
  const say = slidable(line, handle, "", (value) => {
    if (value !== null) lab.change(setProb(lab.get(), side, i, value, from ?? undefined));
  });
  return {
    root,
    render(state) {
      const [own, other] = [state[side][i], state[side === "p" ? "q" : "p"][i]];
      const both = Math.min(own, other);
      shared.style.width = at(both);
      excess.style.left = at(both);
      excess.style.width = at(own - both);
      handle.style.left = at(own);
      handle.setAttribute("aria-label", `${side}: how much ${SIDES[side]} ${state.names[i]}`);
      say(own, percent(own));
      setText(number, percent(own));
    },
  };
}

// Both rows as one unit of mass each: what they share, and what each has alone.
function areasOf() {
  const numbers = { shared: el("b", {}), p: el("b", {}), q: el("b", {}) };
  const unit = (side, what) => {
    const shared = el("i", { class: "ds-lab-fill ds-shared" });
    const excess = el("i", { class: `ds-lab-fill ds-only-${side}` });
    const root = el(
      "div",
      { class: "ds-lab-unit" },
      el("span", {}, el("b", {}, side), ` ${what}`),
      el("div", { class: "ds-lab-bar is-unit" }, shared, excess),
    );
    return { root, shared, excess };
  };
  const units = { p: unit("p", "all of it"), q: unit("q", "all of it") };
  const key = (className, number, text) =>
    el("li", {}, el("i", { class: `ds-lab-key ${className}` }), number, ` ${text}`);
  const root = el(
    "div",
    { class: "ds-lab-areas" },
    Object.values(units).map((one) => one.root),
    el(
      "ul",
      {},
      key("ds-shared", numbers.shared, "shared, min(p, q): drafts that can always stand"),
      key("ds-only-q", numbers.q, "only in q: drafted too often, so thrown away"),
      key("ds-only-p", numbers.p, "only in p: drafted too seldom, so refilled"),
    ),
    el(
      "p",
      { class: "ds-hint" },
      "The two hatched areas are always equal, because both rows sum to 1: what is thrown away is exactly what is needed for the refill. That area is TV(p, q).",
    ),
  );
  return {
    root,
    render({ p, q }) {
      const both = overlap(p, q);
      for (const { shared, excess } of Object.values(units)) {
        shared.style.width = at(both);
        excess.style.left = at(both);
        excess.style.width = at(1 - both);
      }
      setText(numbers.shared, percent(both));
      const apart = tv(p, q);
      setText(numbers.p, percent(apart));
      setText(numbers.q, percent(apart));
    },
  };
}
