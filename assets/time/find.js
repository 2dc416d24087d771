// Finding text in the answer: plain text in any case, or /regex/flags. Tokens are met by index. Pure.

import { emitted } from "./places.js";

// { find(text) -> [[from, to]], error }. An empty query finds nothing.
export function matcher(query) {
  if (!query) return { find: null, error: "" };
  const regex = /^\/(.+)\/([imsu]*)$/.exec(query);
  try {
    const pattern = regex
      ? new RegExp(regex[1], `g${regex[2]}`)
      : new RegExp(RegExp.escape?.(query) ?? literal(query), "gi");
    return { find: (text) => spans(pattern, text), error: "" };
  } catch {
    return { find: null, error: "This is no regular expression." };
  }
}

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function spans(pattern, text) {
  const found = [];
  for (const match of text.matchAll(pattern))
    if (match[0]) found.push([match.index, match.index + match[0].length]);
  return found;
}

// The text of tokens that are only bytes by themselves: as many as it takes to make characters.
function joined(hexes) {
  try {
    const bytes = hexes
      .join(" ")
      .split(" ")
      .map((byte) => parseInt(byte, 16));
    return new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes));
  } catch {
    return null;
  }
}

// The answer as one string, and where each of its tokens begins: { text, starts: [{ at, round, pos }] }. A token
// that goes on with a character begun before it is `inside` it.
export function answer(session) {
  const starts = [];
  let text = "";
  let held = [];
  const flush = () => {
    text += held.length ? (joined(held) ?? "\ufffd") : "";
    held = [];
  };
  for (const token of emitted(session.rounds)) {
    const piece = session.pieces[token.id];
    if (piece?.hex !== undefined) {
      starts.push({ at: text.length, round: token.round, pos: token.pos, inside: held.length > 0 });
      held.push(piece.hex);
      continue;
    }
    flush();
    starts.push({ at: text.length, round: token.round, pos: token.pos });
    text += typeof piece === "string" ? piece : (piece?.special ?? "");
  }
  flush();
  return { text, starts };
}

// The places where matches begin, each once, and every place that a match covers.
export function search(session, query) {
  const { find, error } = matcher(query);
  if (!find) return { places: [], covered: [], error };
  const { text, starts } = answer(session);
  const places = [];
  const covered = [];
  for (const [from, to] of find(text)) {
    let first = starts.findLastIndex((start) => start.at <= from);
    while (starts[first].inside) first -= 1;
    places.push(starts[first]);
    for (let i = first; i < starts.length && starts[i].at < to; i += 1) covered.push(starts[i]);
  }
  const once = (list) =>
    list.filter((place, i) => i === 0 || place !== list[i - 1]).map(({ round, pos }) => ({ round, pos }));
  return { places: once(places), covered: once(covered), error: "" };
}
