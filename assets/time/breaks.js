// Breakpoints: conditions on a place, alone or together, and the places of a session that meet them. Pure.

import { matcher } from "./find.js";
import { dissenters } from "../inspect/matrix.js";

const tested = ({ position }) => position !== null && position.fate !== "untested";
const top = (bars, column) =>
  bars.reduce((best, bar) =>
    bar[column] > best[column] || (bar[column] === best[column] && bar[0] < best[0]) ? bar : best,
  );

// id -> what it says, its number (if it has one), and the test of a place { round, pos, position, next, value,
// pieces, rules, own, divergences }. `position` is the draft there, `next` the token that follows the drafts.
export const BREAKS = {
  rejection: {
    title: "rejection",
    says: "a draft fails its test",
    test: ({ position }) => position?.fate === "rejected",
  },
  accepted: {
    title: "all accepted",
    says: "every draft of the round stands",
    test: ({ round, next, pos }) =>
      round.k > 0 && round.accepted === round.k && (next !== null || (!round.next && pos === round.k - 1)),
  },
  near: {
    title: "near miss",
    says: "the coin fell this close to its threshold, on either side",
    value: { name: "|u − a| <", default: 0.02, max: 1 },
    test: ({ position, value }) => isNear(position, value),
  },
  ratio: {
    title: "p/q below",
    says: "the target wants the draft far less than the drafter did",
    value: { name: "p/q <", default: 0.1, max: 1 },
    test: (at) =>
      tested(at) && at.position.p !== null && at.position.q > 0 && at.position.p / at.position.q < at.value,
  },
  tv: {
    title: "TV above",
    says: "draft and target are far apart",
    value: { name: "TV >", default: 0.3, max: 1 },
    test: (at) => tested(at) && at.position.tv > at.value,
  },
  mass: {
    title: "Z above",
    says: "the residual that a rejection drew from is heavy",
    value: { name: "Z >", default: 0.5, max: 100 },
    test: ({ round, position, value }) => position?.fate === "rejected" && round.next?.residual?.mass > value,
  },
  entropy: {
    title: "entropy above",
    says: "the target is unsure, in nats",
    value: { name: "H(p) >", default: 2, max: 20 },
    test: (at) => (tested(at) || at.next !== null) && ((at.position ?? at.next).entropy?.[0] ?? 0) > at.value,
  },
  tops: {
    title: "tops differ",
    says: "the draft's most probable token is not the target's",
    test: (at) =>
      tested(at) &&
      at.position.bars?.length > 0 &&
      top(at.position.bars, 1)[0] !== top(at.position.bars, 2)[0],
  },
  text: {
    title: "text",
    says: "an emitted token holds this text, or matches this /regex/",
    value: { name: "text", default: "", text: true },
    test: ({ position, next, value, pieces }) => {
      const found = position?.fate === "accepted" ? position.x : next?.token;
      return found !== undefined && matchesPiece(value, pieces[found]);
    },
  },
  special: {
    title: "special token",
    says: "a control token was drafted or emitted",
    test: (at) =>
      (tested(at) || at.next !== null) && at.pieces[at.position?.x ?? at.next.token]?.special !== undefined,
  },
  degenerate: {
    title: "degenerate residual",
    says: "p and q were equal, so the refill was drawn from p",
    test: ({ round, position }) => position?.fate === "rejected" && round.next?.residual?.degenerate === true,
  },
  disagree: {
    title: "rules disagree",
    says: "at least this many rules leave the round with another outcome",
    value: { name: "rules ≥", default: 8, max: 50, whole: true },
    test: ({ round, pos, rules, own, value }) =>
      pos === last(round) && dissenters(round, rules, own).length >= value,
  },
  rescued: {
    title: "rescued",
    says: "accepted although the target's own draw was another token",
    test: ({ position }) => position?.rescued === true,
  },
  divergence: {
    title: "divergence",
    says: "this lane leaves the baseline here, or another lane leaves it",
    test: ({ round, pos, divergences }) =>
      divergences.some((place) => place.round === round.i && place.pos === pos),
  },
};

const last = (round) => (round.next ? round.k : round.k - 1);

export function isNear(position, within) {
  if (!position || position.u === null || position.accept_prob === null) return false;
  return Math.abs(position.u - position.accept_prob) < within;
}

function matchesPiece(query, piece) {
  const { find } = matcher(query);
  if (!find || piece === undefined) return false;
  return find(typeof piece === "string" ? piece : (piece.special ?? piece.hex)).length > 0;
}

export const valueOf = (breaks, id) => breaks.values[id] ?? BREAKS[id].value?.default;

// The conditions a place meets.
export function met(breaks, at) {
  return breaks.on.filter((id) => BREAKS[id].test({ ...at, value: valueOf(breaks, id) }));
}

// Whether the chosen conditions stop at a place: any of them, or all of them together.
export function stops(breaks, at) {
  if (breaks.on.length === 0) return false;
  const n = met(breaks, at).length;
  return breaks.all ? n === breaks.on.length : n > 0;
}

// The stops of one round.
export function placesIn(breaks, round, around) {
  const places = [];
  for (let pos = 0; pos <= round.k; pos += 1) {
    const position = round.positions[pos] ?? null;
    const next = pos === round.k ? round.next : null;
    if (!position && !next) continue;
    if (stops(breaks, { ...around, round, pos, position, next })) places.push({ round: round.i, pos });
  }
  return places;
}

// A growing list of a session's stops, always the same array: asked again after new rounds, it looks at those
// alone.
export function breakPlaces() {
  let known = { key: null, places: [], seen: 0 };
  return (session, breaks, around) => {
    const key = JSON.stringify([
      session.id,
      breaks.on,
      breaks.values,
      breaks.all,
      around.own,
      around.rules.length,
      around.divergences,
    ]);
    if (key !== known.key || session.rounds.length < known.seen) known = { key, places: [], seen: 0 };
    for (; known.seen < session.rounds.length; known.seen += 1)
      known.places.push(
        ...placesIn(breaks, session.rounds[known.seen], { ...around, pieces: session.pieces }),
      );
    return known.places;
  };
}
