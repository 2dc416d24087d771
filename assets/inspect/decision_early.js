// Slow motion, before a test: how a draft was drawn, and what the target's pass brings.

import { words } from "./decision_words.js";
import { el } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { fateKnown } from "./stages.js";
import { sliceTrack } from "../parts/tracks.js";

// Whether the stage has come to what the cursor is on.
export function shows(round, pos, seen, rule) {
  return pos === round.k ? seen.next : fateKnown(round, pos, seen, rule?.looks_ahead) || pos < seen.coins;
}

export function early(session, round, pos, seen) {
  const say = words(session);
  if (seen.kind === "target") {
    const n = round.k + 1;
    const what = round.k === 0 ? "the next token" : `every draft and the place behind them`;
    return [
      el("h3", {}, "The target reads the drafts"),
      el(
        "p",
        { class: "ds-sentence" },
        `One pass of the target gives ${n === 1 ? "1 row" : `${n} rows`} of probabilities, for ${what}. Nothing is decided yet: each draft now has its p beside its q.`,
      ),
    ];
  }
  const position = round.positions[pos];
  const draw = position.draw;
  return [
    el(
      "h3",
      {},
      say([{ token: position.x }, " is drafted"]),
      el("span", { class: "ds-badge" }, `draft ${pos + 1} of ${round.k}`),
    ),
    el(
      "p",
      { class: "ds-sentence" },
      say([
        `The drafter gives `,
        { token: position.x },
        ` ${percent(position.q)} and `,
        ...howDrawn(draw, session.head.rule),
      ]),
    ),
    sliceTrack(draw, "untested"),
  ];
}

function howDrawn(draw, rule) {
  if (draw.u !== null)
    return [
      `its coin fell at u = ${decimal(draw.u)}, in this token's slice of q. The target has not seen it yet.`,
    ];
  if (rule === "gumbel")
    return ["it won the race: log q plus the noise shared with the target. The target has not seen it yet."];
  return ["no coin was needed to draw it. The target has not seen it yet."];
}
