// Lanes side by side: outputs aligned by absolute position, wrapped into staves as wide as the screen.

import { visible } from "./format.js";
import { emitted } from "./places.js";

// A session's output: one entry a position, { id, fate, round, pos }.
export const output = (session) => emitted(session.rounds);

// The first position where both have a token and the tokens differ; null if there is none.
export function firstDivergence(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i].id !== b[i].id) return i;
  return null;
}

const coins = (round) =>
  JSON.stringify([
    round.positions.map((position) => [
      position.x,
      position.u,
      position.own.token,
      position.own.u,
      position.draw.u,
    ]),
    round.next && [round.next.token, round.next.draw.u],
  ]);

// The first round of two runs that is not the same to the last coin; null if all that both have are.
export function firstUnlike(a, b) {
  const length = Math.min(a.rounds.length, b.rounds.length);
  for (let i = 0; i < length; i += 1) if (coins(a.rounds[i]) !== coins(b.rounds[i])) return i;
  return null;
}

// Splits the positions into staves no wider than `width` characters; every stave has at least one position.
// lanes: [{ tokens, pieces }]. Returns [{ from, to, widths }].
export function staves(lanes, width, padding = 1.2) {
  const length = Math.max(0, ...lanes.map((lane) => lane.tokens.length));
  const out = [];
  let from = 0;
  let used = 0;
  for (let at = 0; at < length; at += 1) {
    const widest = Math.max(
      1,
      ...lanes.map((lane) =>
        lane.tokens[at] ? [...visible(lane.pieces[lane.tokens[at].id], 16)].length : 0,
      ),
    );
    if (at > from && used + widest + padding > width) {
      out.push({ from, to: at });
      from = at;
      used = 0;
    }
    used += widest + padding;
  }
  if (length > from) out.push({ from, to: length });
  return out;
}
