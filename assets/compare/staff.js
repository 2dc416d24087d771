// The lanes as staves: the baseline on top, every token by its fate, where lanes part marked, one cursor for all.

import { columnsOf, gapText, staves } from "./align.js";
import { el, tokenText } from "../parts/dom.js";
import { percent, spoken } from "../parts/format.js";
import { positionAt } from "../time/places.js";

// lanes: [{ id, session, tokens, piece, name, parts, judged }]; `parts` is the position where a lane leaves the
// baseline, or null.
export function staffOf(lanes, width, state, actions) {
  const columns = columnsOf(lanes, state.onlyDiffs);
  const here = cursorAt(state);
  return staves(lanes, width, columns).map((stave) =>
    el(
      "div",
      {
        class: "ds-stave",
        style: { gridTemplateColumns: `8.5rem repeat(${stave.length}, auto) 1fr` },
      },
      el("span", { class: "ds-stave-name" }),
      stave.map((column, i) => head(column, i === 0, here)),
      el("span", {}),
      lanes.map((lane, i) => [
        el("span", { class: "ds-stave-name", title: lane.name }, el("b", {}, String(i + 1)), lane.name),
        stave.map((column) => laneCell(lanes, i, column, here, state, actions)),
        el("span", {}),
      ]),
    ),
  );
}

// The cursor as an absolute position, the same in every lane.
function cursorAt({ sessions, focus, cursor }) {
  const round = cursor ? sessions[focus]?.rounds[cursor.round] : null;
  return round ? positionAt(round, cursor.pos) : null;
}

function head({ at, from, to }, first, here) {
  if (at === undefined) return el("span", { class: "ds-stave-at is-gap" });
  const shown = first || at % 5 === 0 || at === here;
  return el("span", { class: `ds-stave-at${at === here ? " is-here" : ""}` }, shown ? String(at) : "");
}

function laneCell(lanes, i, column, here, state, actions) {
  const { at, from, to } = column;
  if (at === undefined) return el("span", { class: "ds-lane-gap" }, i === 0 ? gapText(from, to) : "");
  const lane = lanes[i];
  if (!lane.tokens[at])
    return lane.judged && lane.judged.why ? hatched(lane, at) : el("span", { class: "ds-lane-none" });
  return laneToken(lanes, i, at, here, state, actions);
}

// What a re-judged lane cannot know.
const hatched = (lane, at) =>
  el(
    "span",
    { class: "ds-lane-hatched", title: `needs a run: ${lane.judged.why}` },
    at === lane.tokens.length ? "needs a run" : "",
  );

function laneToken(lanes, i, at, here, state, actions) {
  const { id, session, tokens, piece, name, parts } = lanes[i];
  const token = tokens[at];
  const base = lanes[0].tokens[at];
  const differs = i > 0 && base !== undefined && base.id !== token.id;
  const current = state.focus === id && at === here;
  const first = parts === at;
  const position = token.round === null ? null : session.rounds[token.round].positions[token.pos];
  const words = first ? ", first divergence" : differs ? ", differs from the baseline" : "";
  const numbers = position ? ` · p ${percent(position.p)}, q ${percent(position.q)}` : "";
  const classes = [
    `ds-token is-${token.fate}`,
    differs ? "is-different" : "",
    first ? "is-divergence" : "",
    at === here ? "is-here" : "",
  ];
  return el(
    "button",
    {
      type: "button",
      class: classes.filter(Boolean).join(" "),
      "aria-current": current ? "true" : null,
      "data-key": `lane-${id}-${at}`,
      "data-at": at,
      "aria-label": `${name}, position ${at}, ${spoken(piece(token.id))}, ${token.fate}${words}`,
      title: `position ${at} · ${token.fate}${numbers}${first ? " · first divergence" : ""}`,
      onclick: () => actions.openAt(id, at),
    },
    tokenText(piece(token.id), 16),
  );
}
