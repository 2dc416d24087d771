// The keyboard: one table, off inside inputs, dialogs, sliders and lists, and a sheet that shows it.

import { button, el } from "./dom.js";
import { cardLink } from "../tour/cards.js";

const LANES = Array.from({ length: 9 }, (_, i) => ({
  key: String(i + 1),
  shown: "1 – 9",
  command: `lane${i + 1}`,
  says: "that lane of a comparison, the baseline first",
}));

// A capital needs Shift by itself; of the other keys only arrows look at it.
export const KEYS = [
  { key: " ", shown: "space", command: "play", says: "play or pause" },
  {
    key: "ArrowLeft",
    shown: "←",
    command: "stepBack",
    says: "one step back: a token, or a stage in slow motion",
  },
  { key: "ArrowRight", shown: "→", command: "stepOn", says: "one step on" },
  { key: "ArrowLeft", shift: true, shown: "Shift ←", command: "roundBack", says: "round before" },
  { key: "ArrowRight", shift: true, shown: "Shift →", command: "roundOn", says: "next round" },
  { key: ",", shown: ",", command: "stageBack", says: "one stage of the round back" },
  { key: ".", shown: ".", command: "stageOn", says: "one stage on: draft, target pass, test, what follows" },
  { key: "p", shown: "p", command: "rejectionBack", says: "rejection before" },
  { key: "n", shown: "n", command: "rejectionOn", says: "next rejection" },
  { key: "[", shown: "[", command: "breakBack", says: "breakpoint before" },
  { key: "]", shown: "]", command: "breakOn", says: "next breakpoint" },
  { key: "B", shown: "Shift b", command: "bonusBack", says: "bonus before" },
  { key: "b", shown: "b", command: "bonusOn", says: "next bonus" },
  { key: "D", shown: "Shift d", command: "divergenceBack", says: "divergence before" },
  { key: "d", shown: "d", command: "divergenceOn", says: "next divergence between lanes" },
  { key: "Home", shown: "Home", command: "first", says: "first round" },
  { key: "End", shown: "End", command: "last", says: "last round" },
  { key: "f", shown: "f", command: "follow", says: "follow the newest round" },
  { key: "g", shown: "g", command: "go", says: "go to a position or a round" },
  { key: "/", shown: "/", command: "find", says: "find text or a /regex/ in the answer" },
  ...LANES,
  { key: "t", shown: "t", command: "tables", says: "charts as tables" },
  { key: "l", shown: "l", command: "link", says: "copy a link to this very view" },
  { key: "j", shown: "j", command: "json", says: "copy this position as JSON" },
  { key: "P", shown: "Shift p", command: "present", says: "present: one panel at a time, in large type" },
  { key: "s", shown: "s", command: "star", says: "star the session" },
  { key: "?", shown: "?", command: "help", says: "this sheet" },
  { key: "Escape", shown: "Esc", command: "escape", says: "close, unpin, or put a dragged coin back" },
];

// The keys as a sheet shows them: a row of keys with one meaning is one line.
const sheetLines = () => KEYS.filter((entry, i) => entry.shown !== KEYS[i - 1]?.shown);

// What works even when single keys are switched off.
const ALWAYS = new Set(["help", "escape"]);

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

// on() says whether single keys are switched on.
export function listen(root, run, signal, on = () => true) {
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
      if (!on() && !ALWAYS.has(command)) return;
      if (command && run(command) !== false) event.preventDefault();
    },
    { signal },
  );
}

export function helpSheet(store, actions) {
  const close = () => store.dispatch({ type: "help", on: false });
  const single = el("input", { type: "checkbox", checked: true });
  single.addEventListener("change", () => store.dispatch({ type: "set", values: { keys: single.checked } }));
  const sheet = el(
    "dialog",
    { class: "ds-help", "aria-label": "Keys" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Keys"),
      el("span", { class: "ds-spring" }),
      actions.canTour ? button("Take the tour", { onclick: () => actions.goTo(cardLink(1), true) }) : null,
      button("Present", {
        title: "One panel at a time, in large type (Shift p)",
        onclick: () => actions.present("text"),
      }),
      button("Close", { onclick: close }),
    ),
    el(
      "dl",
      {},
      sheetLines().map((entry) =>
        el("div", {}, el("dt", {}, el("kbd", {}, entry.shown)), el("dd", {}, entry.says)),
      ),
    ),
    el(
      "label",
      { class: "ds-check ds-keyswitch" },
      single,
      "Single keys work. Off: only ? and Esc do, and every command has a button.",
    ),
  );
  sheet.addEventListener("close", close);
  return {
    root: sheet,
    render(state) {
      single.checked = state.keys;
      if (state.help && !sheet.open) sheet.showModal();
      else if (!state.help && sheet.open) sheet.close();
    },
  };
}
