// The Lab as a page of its own: the rules and the measured temperatures are in the page, nothing is asked of a server.

import { el } from "../parts/dom.js";
import { createStore } from "../source/store.js";
import { readLab, writeLab } from "./link.js";
import { FIRST } from "./state.js";
import { labView } from "./view.js";

const WRITE_MS = 150;

const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", colour);
colour();

const { rules, temperatures } = JSON.parse(document.getElementById("recording").textContent);
const store = createStore();
const view = labView(store, { temperatures: () => Promise.resolve(temperatures) });
const asked = new URLSearchParams(location.search);
asked.set("view", "lab");
store.dispatch({ type: "set", values: { view: "lab", choices: { rules }, lab: readLab(asked) ?? FIRST } });

const root = el(
  "div",
  { class: "ds", "data-view": "lab" },
  el("main", { class: "ds-lab-alone" }, el("h1", {}, "draftscope"), view.root),
);
document.getElementById("screen").replaceChildren(root);

let frame = 0;
let writing = 0;
store.subscribe(() => {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    view.render(store.get());
  });
  clearTimeout(writing);
  writing = setTimeout(remember, WRITE_MS);
});
view.render(store.get());

// A browser may refuse to change the address of a page opened from disk; then it stays as it is.
function remember() {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(writeLab(store.get().lab)))
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  try {
    history.replaceState(null, "", url.href.replaceAll("%2C", ",").replaceAll("%3A", ":"));
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
  }
}
