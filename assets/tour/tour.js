// The tour: one card at a time in the left column, over the real screen. A card sets the screen by its link and
// is done when the store says so; whoever cannot find what it asks for can have it shown.

import { button, el, replace, setText } from "../parts/dom.js";
import { CARDS, cardLink } from "./cards.js";

const SEEN = "draftscope.tour";
const FILLED_PX = 60; // a panel lower than this waits for its data
const ENOUGH_PX = 260; // of a panel to be seen
const [AGAIN_MS, TRIES] = [220, 8];

export function tourPane(store, actions) {
  const kicker = el("p", { class: "ds-tourkicker" });
  const title = el("h2", { tabindex: "-1" });
  const says = el("div", { class: "ds-toursays" });
  const asks = el("p", { class: "ds-tourasks" });
  const choices = el("div", { class: "ds-tourchoices", role: "group", "aria-label": "Answers" });
  const hint = el("p", { class: "ds-tourhint", role: "status" });
  const after = el("p", { class: "ds-tourafter", role: "status" });
  const turns = el("div", { class: "ds-tourturns" }, turnButtons(actions));
  const dots = el("ol", { class: "ds-tourdots" });
  const back = button("Back", { class: "ds-button is-small", onclick: () => go(-1) });
  const show = button("Show me", {
    class: "ds-button is-small is-quiet",
    title: "Do what is asked for me",
    onclick: () => showMe(store, actions),
  });
  const next = button("Next", { class: "ds-button is-primary is-small", onclick: () => go(1) });
  const root = el(
    "section",
    { class: "ds-panel ds-tour", "aria-label": "Tour" },
    el(
      "header",
      {},
      kicker,
      button("Leave", { class: "ds-button is-small is-quiet", onclick: () => leave(store) }),
    ),
    title,
    says,
    asks,
    choices,
    turns,
    hint,
    after,
    el("div", { class: "ds-tournav" }, back, show, el("span", { class: "ds-spring" }), next),
    dots,
  );
  const offer = offerOf(store, actions);
  let shown = null;
  let drawn = null;

  function go(by) {
    const n = store.get().tour + by;
    if (n < 1) return;
    if (n > CARDS.length) leave(store);
    else actions.goTo(cardLink(n), true);
  }

  function build(n) {
    const card = CARDS[n - 1];
    setText(kicker, `Card ${n} of ${CARDS.length}`);
    setText(title, card.title);
    replace(
      says,
      card.says.map((text) => el("p", {}, text)),
    );
    setText(asks, card.asks);
    replace(
      choices,
      (card.choices ?? []).map((one) => choice(store, one)),
    );
    choices.hidden = !card.choices;
    turns.hidden = !card.turns;
    back.disabled = n === 1;
    replace(
      dots,
      CARDS.map((one, i) => dot(one, i + 1, n, actions)),
    );
    look(root, card.look);
    if (card.look.length > 0) bring(root, card.look[0], () => store.get().tour === n);
    title.focus({ preventScroll: true });
  }

  store.subscribe((state) => {
    if (state.tour === null || state.tourDone[state.tour]) return;
    if (CARDS[state.tour - 1].done(state))
      store.dispatch({ type: "set", values: { tourDone: { ...state.tourDone, [state.tour]: true } } });
  });

  return {
    root: el("div", { class: "ds-tourbox" }, offer.root, root),
    render(state) {
      offer.render(state);
      root.hidden = state.tour === null;
      const screen = root.closest(".ds");
      screen?.toggleAttribute("data-tour", state.tour !== null);
      document.documentElement.classList.toggle("ds-touring", state.tour !== null);
      if (state.tour === null) {
        if (shown !== null) look(root, []);
        shown = drawn = null;
        return;
      }
      if (shown !== state.tour) {
        shown = state.tour;
        drawn = null;
        build(state.tour);
      }
      const key = [state.tourDone, state.tourAnswer, state.pane, state.sessions[0]?.head];
      if (drawn && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      fill(state);
    },
  };

  function fill(state) {
    const card = CARDS[state.tour - 1];
    const done = Boolean(state.tourDone[state.tour]);
    root.classList.toggle("is-done", done);
    setText(after, done ? (typeof card.after === "function" ? card.after(state) : card.after) : "");
    setText(hint, done ? "" : hintOf(card, state));
    show.hidden = done || !card.show;
    setText(next, state.tour === CARDS.length ? "End the tour" : done ? "Next" : "Skip");
    next.classList.toggle("is-primary", done);
    for (const one of choices.querySelectorAll("button"))
      one.setAttribute("aria-pressed", String(one.dataset.answer === state.tourAnswer));
    for (const [i, one] of [...dots.children].entries())
      one.firstChild.classList.toggle("is-done", Boolean(state.tourDone[i + 1]));
  }
}

function hintOf(card, state) {
  if (card.needs?.(state)) return card.needs(state);
  const answer = card.choices?.find((one) => one.id === state.tourAnswer);
  return answer && !answer.right ? "Not quite. Look again." : "";
}

const choice = (store, { id, text }) =>
  button(text, {
    class: "ds-button is-small",
    "data-answer": id,
    onclick: () => store.dispatch({ type: "set", values: { tourAnswer: id } }),
  });

function dot(card, n, current, actions) {
  return el(
    "li",
    {},
    button(String(n), {
      class: "ds-tourdot",
      "aria-label": `Card ${n}: ${card.title}`,
      "aria-current": n === current ? "step" : null,
      title: card.title,
      onclick: () => actions.goTo(cardLink(n), true),
    }),
  );
}

function showMe(store, actions) {
  const { tour } = store.get();
  const card = CARDS[tour - 1];
  const right = card.choices?.find((one) => one.right);
  if (right) store.dispatch({ type: "set", values: { tourAnswer: right.id } });
  actions.goTo(`${card.show}&tour=${tour}`, false);
}

function leave(store) {
  store.dispatch({ type: "set", values: { tour: null, tourAnswer: null } });
}

function turnButtons(actions) {
  const all = [
    ["faults", "Which fault is this?", () => actions.quiz()],
    ["lab", "Open the Lab", () => actions.view("lab")],
  ];
  return all
    .filter(([id]) => actions.offers(id))
    .map(([, text, onclick]) => button(text, { class: "ds-button is-small", onclick }));
}

// Marks the panels a card speaks of.
function look(root, names) {
  const screen = root.closest(".ds");
  if (!screen) return;
  screen.dataset.look = names.join(" ");
}

// Brings a panel into sight. Its data, and what stands above it, may still be on their way, so it looks again a few
// times, for as long as the card is the same.
function bring(root, name, still, tries = TRIES) {
  if (!still() || tries === 0) return;
  const panel = root.closest(".ds")?.querySelector(PANELS[name]);
  if (panel && panel.offsetHeight >= FILLED_PX && inSight(panel, root) < ENOUGH_PX) {
    const tall = panel.offsetHeight > 0.5 * window.innerHeight;
    panel.scrollIntoView({ block: tall ? "start" : "nearest" });
  }
  setTimeout(() => bring(root, name, still, tries - 1), AGAIN_MS);
}

// How much of a panel's height can be seen: beside the card, or above it where it lies at the bottom.
function inSight(panel, root) {
  const { top, bottom, height } = panel.getBoundingClientRect();
  const card = root.getBoundingClientRect();
  const end = card.width > 0.9 * window.innerWidth ? card.top : window.innerHeight;
  const seen = Math.min(bottom, end) - Math.max(top, 0);
  return seen >= height ? ENOUGH_PX : seen;
}

const PANELS = {
  text: ".ds-text",
  round: ".ds-roundpanel",
  decision: ".ds-decision",
  under: ".ds-under",
  lanes: ".ds-staff",
};

// Asked once, on the first start, when there is nothing of one's own yet.
function offerOf(store, actions) {
  const answer = (open) => {
    remember();
    store.dispatch({ type: "set", values: { tourOffered: true } });
    if (open) actions.goTo(cardLink(1), true);
  };
  const root = el(
    "section",
    { class: "ds-panel ds-touroffer", "aria-label": "Tour", hidden: true },
    el("h2", {}, "New here?"),
    el("p", {}, "Ten cards, ten minutes: what happens on this screen, with your own hands on the coin."),
    el(
      "div",
      { class: "ds-tournav" },
      button("Take the tour", { class: "ds-button is-primary is-small", onclick: () => answer(true) }),
      button("No, thanks", { class: "ds-button is-small is-quiet", onclick: () => answer(false) }),
    ),
  );
  const seen = seenBefore();
  return {
    root,
    render(state) {
      const first = state.listing?.all === 0 && !seen && !state.tourOffered;
      root.hidden = !actions.canTour || !first || state.tour !== null;
    },
  };
}

// A page opened from disk, or a browser that keeps nothing, has no storage: then the offer comes again.
function seenBefore() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}

function remember() {
  try {
    localStorage.setItem(SEEN, "offered");
  } catch {
    // Nothing to keep it in.
  }
}
