// mount(element, source): the inspector in an element, fed by a live or a recorded source.

import { button, el, setText } from "./dom.js";
import { barsPanel } from "./bars.js";
import { commands } from "./commands.js";
import { decisionPanel } from "./decision.js";
import { helpSheet, listen } from "./keys.js";
import { lanesView } from "./lanes.js";
import { read, write } from "./link.js";
import { connect } from "./connect.js";
import { roundPanel, summary } from "./round_panel.js";
import { sessionBar } from "./session_bar.js";
import { sessionList } from "./sessions.js";
import { createStore, selected } from "./store.js";
import { textStrip } from "./text_strip.js";
import { timeline } from "./timeline.js";

let mounted = null;

export function mount(element, source) {
  mounted?.abort();
  mounted = new AbortController();
  const { signal } = mounted;
  const store = createStore();
  const line = connect(store, source, signal);
  const run = commands(store);
  const strip = textStrip(store);
  const actions = {
    ...line,
    run,
    goRound: (round) => store.dispatch({ type: "cursor", round, pos: -1 }),
    copyLink: () => copy(write({ ...store.get(), follow: false }, location.href)),
    canStop: Boolean(source.stop),
    canRerun: Boolean(source.rerun),
  };
  const panes = [
    sessionBar(store, actions),
    sessionList(store, actions),
    strip,
    roundPanel(store),
    decisionPanel(),
    barsPanel(store),
    lanesView(store, actions),
    timeline(store, actions),
    helpSheet(store),
    errorBanner(store),
    statusLine(),
  ];
  const root = layout(panes.map((pane) => pane.root));
  element.replaceChildren(root);

  let frame = 0;
  const render = () => {
    frame = 0;
    const state = store.get();
    root.dataset.view = state.view;
    panes.forEach((pane) => pane.render(state));
  };
  const later = () => {
    frame ||= requestAnimationFrame(render);
  };
  store.subscribe((state, action) => {
    later();
    if (action.type !== "delta") remember(state, action);
  });
  new ResizeObserver(later).observe(root);
  new MutationObserver(later).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  listen(
    root,
    (command) => {
      const moved = run(command);
      if (root.querySelector(".ds-flow")?.contains(document.activeElement))
        requestAnimationFrame(() => strip.focusToken());
      return moved;
    },
    signal,
  );
  window.addEventListener("popstate", () => line.restore(read(location.search)), { signal });
  const asked = read(location.search);
  line.restore(asked.s === null && source.first ? source.first : asked);
  render();
  return { store, close: () => mounted.abort() };
}

function layout([bar, sessions, text, round, decision, bars, lanes, time, help, error, status]) {
  return el(
    "div",
    { class: "ds" },
    error,
    bar,
    el("div", { class: "ds-main" }, text, round, lanes, decision, bars, sessions),
    time,
    help,
    status,
  );
}

let writing = 0;
function remember(state, action) {
  clearTimeout(writing);
  if (state.focus === null) return;
  const href = write(state, location.href);
  if (href === location.href) return;
  const other = read(location.search).s !== state.focus;
  if (other && action.restoring !== true && read(location.search).s !== null) enter("pushState", href);
  else if (other) enter("replaceState", href);
  else writing = setTimeout(() => enter("replaceState", write(state, location.href)), 150);
}

// A browser may refuse (too many in a while, or a page opened from disk); then the address stays as it is.
function enter(how, href) {
  try {
    history[how](history.state, "", href);
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    return "Copy the address above";
  }
}

function errorBanner(store) {
  const message = el("b", {});
  const hint = el("span", {});
  const close = button("Dismiss", { onclick: () => store.dispatch({ type: "error", error: null }) });
  const root = el(
    "div",
    { class: "ds-error", role: "alert", hidden: true },
    el("p", {}, message, " ", hint),
    close,
  );
  return {
    root,
    render({ error }) {
      root.hidden = !error;
      setText(message, error?.message ?? "");
      setText(hint, error?.hint ?? "");
    },
  };
}

// One polite line a round for screen readers.
function statusLine() {
  const root = el("p", { class: "ds-sr", role: "status" });
  return {
    root,
    render(state) {
      const { round } = selected(state);
      setText(root, round ? `Round ${round.i}: ${summary(round)}` : "");
    },
  };
}
