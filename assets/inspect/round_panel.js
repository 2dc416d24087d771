// One round: the drafts in order, each with its test, and the token that followed.

import { el, replace, tokenText } from "../parts/dom.js";
import { milliseconds, percent } from "../parts/format.js";
import { origin } from "./explain.js";
import { fateKnown, revealed, stageName, stagesOf } from "./stages.js";
import { selected } from "../source/store.js";
import { miniDart } from "../parts/tracks.js";

export function roundPanel(store) {
  const title = el("h2", {}, "Round");
  const facts = el("p", { class: "ds-facts" });
  const times = el("p", { class: "ds-times" });
  const cards = el("div", { class: "ds-cards" });
  const steps = el("div", { class: "ds-steps", role: "group", "aria-label": "Stages of the round" });
  const root = el(
    "section",
    { class: "ds-panel ds-roundpanel", "aria-label": "Round" },
    el("header", { class: "ds-head" }, title, facts, times),
    cards,
    steps,
  );
  let drawn = null;
  return {
    root,
    render(state) {
      const { session, round } = selected(state);
      const ahead =
        state.choices?.rules.find((rule) => rule.id === session?.head?.rule)?.looks_ahead ?? false;
      const key = round
        ? `${session.id}/${round.i}/${state.cursor.pos}/${state.stage}/${Boolean(session.head)}/${ahead}`
        : "";
      if (key === drawn) return;
      drawn = key;
      root.hidden = !round;
      if (!round) return;
      title.textContent = `Round ${round.i}`;
      const seen = revealed(round, state.stage);
      facts.textContent = seen.all
        ? summary(round)
        : `drafted ${seen.drafts}${seen.target ? " · the target has read them" : ""}`;
      steps.hidden = state.stage === null;
      replace(steps, steps.hidden ? [] : stepButtons(store, round, state.stage));
      times.textContent = timeText(round.times);
      replace(cards, cardsOf(store, session, round, state.cursor.pos, { ...seen, ahead }));
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

function cardsOf(store, session, round, current, seen) {
  const out = [];
  round.positions.forEach((position, pos) => {
    if (pos >= seen.drafts) out.push(blankCard(`draft ${pos + 1}`));
    else out.push(draftCard(store, session, round, position, pos, pos === current, seen));
  });
  if (!seen.next) {
    out.push(el("span", { class: "ds-arrow", "aria-hidden": "true" }, "→"), blankCard("what follows"));
  } else if (round.next) {
    if (round.k > 0) out.push(el("span", { class: "ds-arrow", "aria-hidden": "true" }, "→"));
    out.push(nextCard(store, session, round, round.k === current));
  } else {
    out.push(el("p", { class: "ds-ended" }, "The output ended here."));
  }
  return out;
}

function stepButtons(store, round, current) {
  return stagesOf(round).map((stage, at) =>
    el(
      "button",
      {
        type: "button",
        class: at <= current ? "is-done" : null,
        "aria-current": at === current ? "step" : null,
        "data-key": `stage-${at}`,
        onclick: () => store.dispatch({ type: "cursor", round: round.i, pos: stage.i, stage: at }),
      },
      stageName(stage),
    ),
  );
}

// A place in the row for what has not happened yet.
const blankCard = (text) => el("div", { class: "ds-card is-blank" }, el("span", { class: "ds-fate" }, text));

function draftCard(store, session, round, position, pos, isCurrent, seen) {
  const tested = position.accept_prob !== null && pos < seen.coins;
  const decided = fateKnown(round, pos, seen, seen.ahead);
  const fate = decided ? position.fate : "drafted";
  return el(
    "button",
    {
      type: "button",
      class: `ds-card is-${fate}`,
      "aria-current": isCurrent ? "true" : null,
      "data-key": `card-${pos}`,
      onclick: () => store.dispatch({ type: "cursor", round: round.i, pos }),
    },
    el("span", { class: `ds-token is-${fate}` }, tokenText(session.pieces[position.x], 18)),
    el(
      "span",
      { class: "ds-fate" },
      fate,
      decided && position.rescued
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
      seen.target ? percent(position.p) : "not yet",
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
