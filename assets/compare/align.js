// Lanes side by side: outputs aligned by absolute position, wrapped into staves as wide as the screen. Pure.

import { visible } from "../parts/format.js";
import { emitted } from "../time/places.js";

// A session's output: one entry a position, { id, fate, round, pos }. A branch begins with the tokens it was
// given, which belong to no round: { id, fate: "forced", round: null, pos: null }.
export const output = (session) => [...forced(session), ...emitted(session.rounds)];

export const forced = ({ head }) =>
  (head?.forced ?? []).map((id) => ({ id, fate: "forced", round: null, pos: null }));

// The text of a token of a lane; a branch's given tokens come with its head.
export const pieceOf = ({ pieces, head }, id) => pieces[id] ?? head?.forced_pieces?.[id];

// The first position where both have a token and the tokens differ; null if there is none.
export function firstDivergence(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i].id !== b[i].id) return i;
  return null;
}

// The columns of an alignment: { at } a position, or { from, to } a stretch in which no lane differs from the
// first, left out where `onlyDifferences` says so. A difference keeps its neighbours.
export function columnsOf(lanes, onlyDifferences = false) {
  const length = Math.max(0, ...lanes.map((lane) => lane.tokens.length));
  const all = Array.from({ length }, (_, at) => ({ at }));
  if (!onlyDifferences) return all;
  const differs = all.map(({ at }) => anyDiffers(lanes, at));
  const kept = (at) => differs[at - 1] || differs[at] || differs[at + 1];
  const out = [];
  for (const { at } of all) {
    const before = out.at(-1);
    if (kept(at)) out.push({ at });
    else if (before?.to === at) before.to = at + 1;
    else out.push({ from: at, to: at + 1 });
  }
  return out;
}

const anyDiffers = ([first, ...others], at) =>
  first.tokens[at] !== undefined &&
  others.some(({ tokens }) => tokens[at] !== undefined && tokens[at].id !== first.tokens[at].id);

// Splits the columns into staves no wider than `width` characters, each with at least one.
// lanes: [{ tokens, piece: id -> piece }]. Returns lists of columns.
export function staves(lanes, width, columns, padding = 1.2) {
  const out = [];
  let used = Infinity;
  for (const column of columns) {
    const takes = widthOf(lanes, column) + padding;
    if (used + takes > width) {
      out.push([]);
      used = 0;
    }
    out.at(-1).push(column);
    used += takes;
  }
  return out;
}

function widthOf(lanes, { at, from, to }) {
  if (at === undefined) return gapText(from, to).length;
  const texts = lanes.map(({ tokens, piece }) => (tokens[at] ? visible(piece(tokens[at].id), 16) : ""));
  return Math.max(1, ...texts.map((text) => [...text].length));
}

// What stands for a stretch that is the same in all lanes.
export const gapText = (from, to) => `${to - from} alike`;
