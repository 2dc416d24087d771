// The token that follows the drafts: the draw that chose it, its numbers, and the residual it came from.

import { badge, fact, words } from "./decision_words.js";
import { el, quoted, tokenText } from "../parts/dom.js";
import { drawnByCoin, explainNext, headline } from "./explain.js";
import { decimal, percent } from "../parts/format.js";
import { residualTable } from "./residual.js";
import { sliceTrack } from "../parts/tracks.js";

export function nextBody(session, round) {
  const rule = session.head.rule;
  const say = words(session);
  return [
    el("h3", {}, say(headline(round, round.k)), badge(round, null)),
    el("p", { class: "ds-sentence" }, say(explainNext(round, rule))),
    nextFacts(session, round),
    ...drawSection(session, round),
  ];
}

// Under a rejected draft: what took its place, with the residual it came from.
export function replacement(session, round) {
  return [
    el("h4", {}, "Replaced by ", quoted(session.pieces[round.next.token])),
    ...drawSection(session, round),
  ];
}

function drawSection(session, round) {
  const { next } = round;
  return [
    drawnByCoin(next, session.head.rule) ? sliceTrack(next.draw, next.source) : null,
    next.residual ? drawnResidual(session, next) : null,
  ];
}

// p, q and ln p of the token itself; for a bonus what the target's row was like, too.
function nextFacts(session, { next, accepted, k }) {
  const drafted = next.q !== null && next.q !== undefined;
  const bonus = accepted === k && next.entropy;
  return el(
    "dl",
    { class: "ds-factlist" },
    fact("target p(x)", percent(next.p)),
    drafted ? fact("draft q(x)", percent(next.q)) : null,
    drafted ? fact("p/q", next.p !== null && next.q > 0 ? decimal(next.p / next.q) : "–") : null,
    fact("ln p(x)", logText(next.logprob)),
    bonus ? fact("coin u", next.draw.u === null ? "none" : decimal(next.draw.u)) : null,
    bonus ? fact("entropy p", `${decimal(next.entropy[0])} nat`) : null,
    bonus && next.own
      ? fact("target's own draw", tokenText(session.pieces[next.own.token], 14), "is-wide")
      : null,
  );
}

// ln p of an emitted token; sessions from before it was stored have none.
export const logText = (value) => (value === null || value === undefined ? "–" : `${decimal(value)} nat`);

function drawnResidual(session, next) {
  const { residual } = next;
  const name = residual.degenerate ? "Drawn from p (degenerate residual)" : "Residual";
  const rows = residual.top.map(([token, prob]) => ({ token, prob, hit: token === next.token }));
  return residualTable(session, `${name}, mass Z = ${decimal(residual.mass)}`, rows, residual.rest[0]);
}
