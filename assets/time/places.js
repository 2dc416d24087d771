// Places of a session: { round, pos }, in reading order. Pure.

export const before = (a, b) => a.round < b.round || (a.round === b.round && a.pos < b.pos);

// The first of the sorted places beyond the cursor in a direction, or null.
export function nearest(places, cursor, by) {
  if (by > 0) return places.find((place) => before(cursor, place)) ?? null;
  return places.findLast((place) => before(place, cursor)) ?? null;
}

// The emitted tokens in order: [{ id, fate, round, pos }], from round `lo` on.
export function emitted(rounds, lo = 0) {
  const tokens = [];
  for (const round of lo ? rounds.slice(lo) : rounds) {
    round.positions.slice(0, round.accepted).forEach((position, pos) => {
      tokens.push({ id: position.x, fate: "accepted", round: round.i, pos });
    });
    if (round.next)
      tokens.push({ id: round.next.token, fate: round.next.source, round: round.i, pos: round.k });
  }
  return tokens;
}

// The place of an absolute output position, or of the draft that stood there; null behind the output.
export function placeAt(session, at) {
  const round = session.rounds.findLast((one) => one.start <= at);
  if (!round || at < 0) return null;
  const pos = at - round.start;
  if (pos < round.accepted) return { round: round.i, pos };
  return pos === round.accepted && round.next ? { round: round.i, pos: round.k } : null;
}

// What a round holds at a place: a draft, or the token that follows them. A corrected token stands in the row
// of the draft it replaces, and is as uncertain.
export function heldAt(round, pos) {
  if (pos < round.k) return round.positions[pos];
  const { next } = round;
  if (!next || next.entropy) return next;
  return { ...next, entropy: round.positions[round.accepted]?.entropy };
}

// The place of a place in the order of the answer: what a rejected draft's position holds in the end.
export const positionAt = (round, pos) => round.start + (pos === round.k ? round.accepted : pos);
