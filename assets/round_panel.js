// One round: the drafts in order, each with its test, and the token that followed.

import { el, replace, tokenText } from "./dom.js";
import { milliseconds, percent } from "./format.js";
import { origin } from "./explain.js";
import { selected } from "./store.js";
import { miniDart } from "./tracks.js";

export function roundPanel(store) {
  const title = el("h2", {}, "Round");
  const facts = el("p", { class: "ds-facts" });
  const times = el("p", { class: "ds-times" });
  const cards = el("div", { class: "ds-cards" });
  const root = el(
    "section",
    { class: "ds-panel ds-roundpanel", "aria-label": "Round" },
    el("header", { class: "ds-head" }, title, facts, times),
    cards,
  );
  let drawn = null;
  return {
    root,
    render(state) {
      const { session, round } = selected(state);
      const key = round ? `${session.id}/${round.i}/${state.cursor.pos}/${Boolean(session.head)}` : "";
      if (key === drawn) return;
      drawn = key;
      root.hidden = !round;
      if (!round) return;
      title.textContent = `Round ${round.i}`;
      facts.textContent = summary(round);
      times.textContent = timeText(round.times);
      replace(cards, cardsOf(store, session, round, state.cursor.pos));
    },
  };
}

export function summary(round) {
  if (round.k === 0) return "nothing drafted: one plain step of the target";
  return [
    `drafted ${round.k}`,
    `tested ${round.tested}`,
    `accepted ${round.accepted}`,
    `emitted ${round.emitted}`,
  ].join(" · ");
}

function timeText([draft, target, judge]) {
  if (draft + target + judge === 0) return "";
  return `draft ${milliseconds(draft)} · target pass ${milliseconds(target)} · judge ${milliseconds(judge)}`;
}

function cardsOf(store, session, round, current) {
  const out = [];
  round.positions.forEach((position, pos) => {
    out.push(draftCard(store, session, round, position, pos, pos === current));
  });
  if (round.next) {
    if (round.k > 0) out.push(el("span", { class: "ds-arrow", "aria-hidden": "true" }, "→"));
    out.push(nextCard(store, session, round, round.k === current));
  } else {
    out.push(el("p", { class: "ds-ended" }, "The output ended here."));
  }
  return out;
}

function draftCard(store, session, round, position, pos, isCurrent) {
  const tested = position.accept_prob !== null;
  return el(
    "button",
    {
      type: "button",
      class: `ds-card is-${position.fate}`,
      "aria-current": isCurrent ? "true" : null,
      "data-key": `card-${pos}`,
      onclick: () => store.dispatch({ type: "cursor", round: round.i, pos }),
    },
    el("span", { class: `ds-token is-${position.fate}` }, tokenText(session.pieces[position.x], 18)),
    el(
      "span",
      { class: "ds-fate" },
      position.fate,
      position.rescued
        ? el(
            "em",
            {
              title: "rescued: the target's own draw was another token",
              role: "img",
              "aria-label": "rescued",
            },
            " ◆",
          )
        : null,
    ),
    tested && position.u !== null
      ? miniDart(position.accept_prob, position.u, position.passed)
      : el("div", { class: "ds-mini is-none" }),
    el(
      "span",
      { class: "ds-pq" },
      el("b", {}, "p"),
      percent(position.p),
      el("b", {}, "q"),
      percent(position.q),
    ),
  );
}

function nextCard(store, session, round, isCurrent) {
  const { next } = round;
  return el(
    "button",
    {
      type: "button",
      class: `ds-card is-${next.source}`,
      "aria-current": isCurrent ? "true" : null,
      "data-key": `card-${round.k}`,
      onclick: () => store.dispatch({ type: "cursor", round: round.i, pos: round.k }),
    },
    el("span", { class: `ds-token is-${next.source}` }, tokenText(session.pieces[next.token], 18)),
    el("span", { class: "ds-fate" }, round.k === 0 ? "target step" : next.source),
    el("span", { class: "ds-from" }, origin(round, session.head?.rule)),
    el("span", { class: "ds-pq" }, el("b", {}, "p"), percent(next.p)),
  );
}
