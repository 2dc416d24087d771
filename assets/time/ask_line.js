// The line that asks: go to a position or a round, find text or a /regex/.

import { button, el, setText } from "../parts/dom.js";
import { target } from "../parts/commands.js";
import { count } from "../parts/format.js";
import { before } from "./places.js";

export function askLine(store, actions, marks) {
  const input = el("input", { type: "text", class: "ds-input", spellcheck: "false", autocomplete: "off" });
  const said = el("span", { class: "ds-facts", role: "status" });
  const back = button("‹", {
    class: "ds-button is-small",
    "aria-label": "Match before",
    onclick: () => actions.run("foundBack"),
  });
  const on = button("›", {
    class: "ds-button is-small",
    "aria-label": "Next match",
    onclick: () => actions.run("foundOn"),
  });
  const close = button("Close", {
    class: "ds-button is-small",
    title: "Close (Esc)",
    onclick: () => leave(),
  });
  const name = el("label", {}, "");
  const root = el(
    "div",
    { class: "ds-ask", role: "search", hidden: true },
    name,
    input,
    back,
    on,
    said,
    close,
  );
  const set = (values) => store.dispatch({ type: "set", values });
  // The keyboard goes back to the text at once: the next key may come before the next frame.
  const leave = () => {
    if (root.contains(document.activeElement)) {
      document.activeElement.blur();
      actions.focusToken();
    }
    set({ asking: null });
  };

  input.addEventListener("input", () => {
    if (store.get().asking === "find") set({ find: input.value });
    setText(said, "");
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && store.get().asking === "find")
      actions.run(event.shiftKey ? "foundBack" : "foundOn");
    else if (event.key === "Enter") go();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function go() {
    const state = store.get();
    const place = target(state.sessions[state.focus], input.value);
    if (!place) {
      setText(said, "No such place yet. 37 is a position, r12 a round, r12.3 a draft in it.");
      return;
    }
    store.dispatch({ type: "cursor", ...place, jump: true });
    leave();
  }

  let shown = null;
  return {
    root,
    render(state) {
      const { asking } = state;
      if (asking !== shown) {
        shown = asking;
        root.hidden = asking === null;
        name.textContent = asking === "find" ? "Find" : "Go to";
        input.setAttribute("aria-label", asking === "find" ? "Text or /regex/ to find" : "Position or round");
        input.placeholder = asking === "find" ? "text or /regex/" : "37, r12 or r12.3";
        input.value = asking === "find" ? state.find : "";
        back.hidden = on.hidden = asking !== "find";
        setText(said, "");
        if (asking) {
          input.focus();
          input.select();
        }
      }
      if (asking === "find") setText(said, foundText(state, marks.found(state)));
    },
  };
}

function foundText(state, { places, error }) {
  if (error) return error;
  if (!state.find) return "";
  const at = state.cursor ? places.filter((place) => !before(state.cursor, place)).length : 0;
  return places.length ? `${at} of ${count(places.length, "match", "matches")}` : "nothing found";
}
