// Break on: which places [ and ] run to, and whether playing and following stop there.

import { BREAKS, valueOf } from "./breaks.js";
import { button, el, setText } from "../parts/dom.js";
import { count } from "../parts/format.js";
import { matcher } from "./find.js";

export function breakPanel(store, actions, marks) {
  const set = (values) => store.dispatch({ type: "breaks", values });
  const get = () => store.get().breaks;
  const lines = Object.entries(BREAKS).map(([id, rule]) => line(id, rule, get, set));
  const all = el("select", { class: "ds-select", "aria-label": "How breakpoints combine" }, [
    el("option", { value: "" }, "any of them"),
    el("option", { value: "1" }, "all together"),
  ]);
  all.addEventListener("change", () => set({ all: all.value === "1" }));
  const pause = el("input", { type: "checkbox" });
  pause.addEventListener("change", () => set({ pause: pause.checked }));
  const found = el("span", { class: "ds-facts" });
  const note = el("p", { class: "ds-hint", role: "status" });
  const go = (name, label, key, text) =>
    button(text, {
      class: "ds-button is-small",
      "aria-label": label,
      title: `${label} (${key})`,
      onclick: () => actions.run(name),
    });
  const root = el(
    "section",
    { class: "ds-panel ds-breaks", "aria-label": "Break on" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Break on"),
      el("span", { class: "ds-spring" }),
      go("breakBack", "Breakpoint before this", "[", "‹"),
      go("breakOn", "Breakpoint after this", "]", "›"),
    ),
    el(
      "ul",
      { class: "ds-breaklist" },
      lines.map((one) => one.root),
    ),
    el("div", { class: "ds-breakfoot" }, all, found),
    el(
      "label",
      { class: "ds-check", title: "Playing and following stop at the first place that matches" },
      pause,
      "pause there",
    ),
    note,
  );
  let drawn = [];
  return {
    root,
    render(state) {
      const session = state.sessions[state.focus] ?? null;
      root.hidden = !session;
      if (!session) return;
      const key = [session, state.breaks, state.lanes, state.choices];
      if (key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      lines.forEach((one) => one.render(state.breaks));
      all.value = state.breaks.all ? "1" : "";
      all.disabled = state.breaks.on.length < 2;
      pause.checked = state.breaks.pause;
      setText(found, state.breaks.on.length ? count(marks.breaks(state).length, "place") : "none chosen");
      setText(note, state.breaks.on.includes("text") ? matcher(valueOf(state.breaks, "text")).error : "");
    },
  };
}

function line(id, { title, says, value }, get, set) {
  const box = el("input", { type: "checkbox", "data-break": id });
  box.addEventListener("change", () => {
    const on = Object.keys(BREAKS).filter((one) => (one === id ? box.checked : get().on.includes(one)));
    set({ on });
  });
  const number = value ? field(id, value, get, set) : null;
  const root = el("li", { title: says }, el("label", { class: "ds-check" }, box, title), number);
  return {
    root,
    render(breaks) {
      box.checked = breaks.on.includes(id);
      if (number && document.activeElement !== number) number.value = valueOf(breaks, id);
    },
  };
}

function field(id, value, get, set) {
  const input = el("input", {
    type: value.text ? "text" : "number",
    class: `ds-input ds-breakvalue${value.text ? " is-text" : ""}`,
    "aria-label": value.name,
    placeholder: value.text ? "text or /regex/" : null,
    min: value.text ? null : 0,
    max: value.max ?? null,
    step: value.text ? null : value.whole ? 1 : "any",
  });
  input.addEventListener("input", () => {
    const given = value.text ? input.value : Number(input.value);
    const fits = value.text || (input.value !== "" && given >= 0 && given <= value.max);
    input.toggleAttribute("aria-invalid", !fits);
    if (!fits) return;
    // A number that is typed is a breakpoint that is wanted.
    const on = Object.keys(BREAKS).filter((one) => one === id || get().on.includes(one));
    set({ on, values: { ...get().values, [id]: given } });
  });
  return input;
}
