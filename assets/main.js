// mount(element, source): the inspector in an element, fed by a live or a recorded source.

import { button, el, setText } from "./parts/dom.js";
import { breakPanel } from "./time/break_panel.js";
import { commands } from "./parts/commands.js";
import { dataActions } from "./data/actions.js";
import { dataView } from "./data/view.js";
import { decisionPanel } from "./inspect/decision.js";
import { helpSheet, listen } from "./parts/keys.js";
import { lanesView } from "./compare/view.js";
import { read, write } from "./source/link.js";
import { labView } from "./lab/view.js";
import { readLook } from "./source/look.js";
import { marks as marksOf } from "./time/marks.js";
import { connect } from "./source/connect.js";
import { exactnessView } from "./stats/exactness_view.js";
import { sessionSheet } from "./library/session_sheet.js";
import { statsView } from "./stats/stats_view.js";
import { toast, warmingChip } from "./parts/toast.js";
import { roundPanel, summary } from "./inspect/round_panel.js";
import { sessionBar } from "./library/session_bar.js";
import { sessionList } from "./library/sessions.js";
import { createStore, selected } from "./source/store.js";
import { textStrip } from "./inspect/text_strip.js";
import { timeline } from "./time/timeline.js";
import { underPanel } from "./inspect/under.js";
import { cardLink, cardNumber } from "./tour/cards.js";
import { faultsView, startQuiz } from "./tour/faults_view.js";
import { presentPane } from "./tour/present.js";
import { tourPane } from "./tour/tour.js";
import { viewOf } from "./views.js";

let mounted = null;

export function mount(element, source) {
  mounted?.abort();
  mounted = new AbortController();
  const { signal } = mounted;
  const store = createStore();
  const line = connect(store, source, signal);
  const marks = marksOf();
  const strip = textStrip(store, marks);
  const actions = {
    ...line,
    run: (name) => run(name),
    focusToken: () => strip.focusToken(),
    laws: source.laws,
    copyJson: source.position && (() => copyPosition(store, source)),
    goRound: (round) => store.dispatch({ type: "cursor", round, pos: -1 }),
    copyLink: () => copy(write({ ...store.get(), follow: false }, location.href)),
    stats: source.stats && ((id) => line.guarded(() => source.stats(id))),
    plotly: source.plotly,
    verify: source.verify && verifier(source, line.guarded),
    star: line.list.canChange ? line.list.star : null,
    canStop: Boolean(source.stop),
    canRerun: Boolean(source.rerun),
    ...dataActions(store, source, line),
    lab: source.lab,
    recording: source.recording,
    canTour: Boolean(source.recording),
    offers: (id) => Boolean(viewOf(id)) && (!viewOf(id).needs || Boolean(actions[viewOf(id).needs])),
    goTo: (search, fresh) => goTo(search, fresh),
    present: (id) => presenter.present(id),
    quiz: () => {
      startQuiz(store);
      return line.view("faults");
    },
  };
  const run = commands(store, actions, marks);
  const presenter = presentPane(store, actions, signal);
  const panes = {
    bar: sessionBar(store, actions),
    sessions: sessionList(store, actions),
    text: strip,
    round: roundPanel(store),
    decision: decisionPanel(store, actions),
    under: underPanel(store, actions),
    lanes: lanesView(store, actions, source),
    time: timeline(store, actions, marks),
    help: helpSheet(store, actions),
    error: errorBanner(store),
    status: statusLine(),
    breaks: breakPanel(store, actions, marks),
    tour: tourPane(store, actions),
    faults: faultsView(store, actions),
    stats: statsView(store, actions),
    exactness: exactnessView(store, actions),
    data: dataView(store, actions),
    lab: labView(store, source.lab),
    sheet: sessionSheet(store, actions),
    toast: toast(store, actions),
    warming: warmingChip(store),
    presenter,
  };
  const root = layout(panes);
  element.replaceChildren(root);

  let frame = 0;
  let restoring = false;
  const render = () => {
    frame = 0;
    const state = store.get();
    root.dataset.view = state.view;
    root.toggleAttribute("data-whole", Boolean(viewOf(state.view)?.whole));
    Object.values(panes).forEach((pane) => pane.render(state));
  };
  const later = () => {
    frame ||= requestAnimationFrame(render);
  };
  store.subscribe((state, action) => {
    later();
    if (action.type !== "delta") remember(state, { ...action, restoring: restoring || action.restoring });
  });
  new ResizeObserver(later).observe(root);
  new MutationObserver(later).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  listen(
    root,
    (command) => {
      const onToken = () => root.querySelector(".ds-flow")?.contains(document.activeElement);
      const moved = run(command);
      if (onToken()) requestAnimationFrame(() => onToken() && strip.focusToken());
      return moved;
    },
    signal,
    () => store.get().keys,
  );
  // What a link asks for is no move of the reader's: it leaves the history alone.
  const restore = (place, search = location.search) => {
    restoring = true;
    store.dispatch({ type: "look", look: readLook(search) });
    line.restore(place);
    restoring = false;
  };
  // A card of the tour: `fresh` is one that was just turned to.
  const goTo = (search, fresh) => {
    if (fresh) store.dispatch({ type: "set", values: { tourAnswer: null, present: null } });
    restore(read(search), search);
    remember(store.get(), { type: "view" });
  };
  window.addEventListener("popstate", () => restore(read(location.search)), { signal });
  const asked = read(location.search);
  const card = source.recording && cardNumber(new URLSearchParams(location.search).get("tour"));
  if (asked.s === null && card) restore(read(cardLink(card)), cardLink(card));
  else restore(asked.s === null && source.first ? source.first : asked);
  render();
  return { store, close: () => mounted.abort() };
}

function verifier(source, guarded) {
  return {
    form: () => guarded(source.verifyForm),
    begin: (form) => guarded(() => source.verify(form)),
    look: (number) => guarded(() => source.verification(number)),
    stop: (number) => guarded(() => source.stopVerification(number)),
  };
}

function layout(panes) {
  const at = (...names) => names.map((name) => panes[name].root);
  const main = ["text", "round", "lanes", "decision", "under", "stats", "exactness", "data", "lab", "faults"];
  return el(
    "div",
    { class: "ds" },
    at("error", "bar"),
    el(
      "div",
      { class: "ds-main" },
      at(...main),
      el("div", { class: "ds-left" }, at("tour", "sessions", "breaks")),
    ),
    at("time", "help", "status", "sheet", "toast", "warming", "presenter"),
  );
}

let writing = 0;
function remember(state, action) {
  clearTimeout(writing);
  if (state.focus === null && state.view !== "lab") return;
  const href = write(state, location.href);
  if (href === location.href) return;
  const other = read(location.search).s !== state.focus;
  const leap = action.restoring !== true && (action.jump || action.type === "view");
  if (leap || (other && action.restoring !== true && read(location.search).s !== null))
    enter("pushState", href);
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

// The selected position as `show --json` prints it.
async function copyPosition(store, source) {
  const { focus, cursor } = store.get();
  try {
    return await copy(JSON.stringify(await source.position(focus, cursor.round, cursor.pos), null, 1));
  } catch (error) {
    return error.message;
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {
    return "The browser keeps its clipboard closed; copy the address above.";
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
