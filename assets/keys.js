// The keyboard: one table, off inside inputs, dialogs, sliders and lists, and a sheet that shows it.

import { button, el } from "./dom.js";

export const KEYS = [
  { key: " ", shown: "space", command: "play", says: "play or pause" },
  { key: "ArrowLeft", shown: "←", command: "stepBack", says: "token before" },
  { key: "ArrowRight", shown: "→", command: "stepOn", says: "next token" },
  { key: "ArrowLeft", shift: true, shown: "Shift ←", command: "roundBack", says: "round before" },
  { key: "ArrowRight", shift: true, shown: "Shift →", command: "roundOn", says: "next round" },
  { key: "p", shown: "p", command: "rejectionBack", says: "rejection before" },
  { key: "n", shown: "n", command: "rejectionOn", says: "next rejection" },
  { key: "Home", shown: "Home", command: "first", says: "first round" },
  { key: "End", shown: "End", command: "last", says: "last round" },
  { key: "f", shown: "f", command: "follow", says: "follow the newest round" },
  { key: "?", shown: "?", command: "help", says: "this sheet" },
  { key: "Escape", shown: "Esc", command: "escape", says: "close a sheet or a message" },
];

const TYPING =
  "input,textarea,select,[contenteditable=true],[role=slider],[role=listbox],[role=option],[role=dialog],dialog";

// The command of a key press, or null. "?" needs Shift on most keyboards, so only arrows look at it.
export function commandOf(event) {
  const arrow = event.key.startsWith("Arrow");
  const found = KEYS.find(
    (entry) => entry.key === event.key && (!arrow || Boolean(entry.shift) === event.shiftKey),
  );
  return found?.command ?? null;
}

export function listen(root, run, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
        return;
      if (!root.isConnected || root.offsetParent === null) return;
      const path = event.composedPath().filter((node) => node.matches);
      if (path.some((node) => node.matches(TYPING))) return;
      // Space presses a focused button, but on a token, which is selected already, it plays.
      const pressable = path.find((node) => node.matches("button,a,summary,label"));
      if (event.key === " " && pressable && !pressable.matches(".ds-flow .ds-token")) return;
      const command = commandOf(event);
      if (command && run(command) !== false) event.preventDefault();
    },
    { signal },
  );
}

export function helpSheet(store) {
  const close = () => store.dispatch({ type: "help", on: false });
  const sheet = el(
    "dialog",
    { class: "ds-help", "aria-label": "Keys" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Keys"),
      el("span", { class: "ds-spring" }),
      button("Close", { onclick: close }),
    ),
    el(
      "dl",
      {},
      KEYS.map((entry) => el("div", {}, el("dt", {}, el("kbd", {}, entry.shown)), el("dd", {}, entry.says))),
    ),
  );
  sheet.addEventListener("close", close);
  return {
    root: sheet,
    render(state) {
      if (state.help && !sheet.open) sheet.showModal();
      else if (!state.help && sheet.open) sheet.close();
    },
  };
}
