// Where two outputs that parted are the same again. Pure; tokens are { id }, in order of their positions.

// Fewer tokens in a row are no meeting: a full stop is soon the same.
const RUN = 3;

const same = (a, b, i, shift = 0) =>
  a[i] !== undefined && b[i + shift] !== undefined && a[i].id === b[i + shift].id;

// After the divergence at `from`: { at, n, toEnd } for the first stretch of equal tokens at the same positions
// ({ toEnd } where it goes on to the end of both), or { at, other, n, toEnd: true } for an end that is the same
// text at other positions, or null. `ended` says whether both have all their tokens.
export function meeting(a, b, from, ended = true) {
  const apart = endInCommon(a, b, from, ended);
  for (let at = from + 1; at < Math.min(a.length, b.length); at += 1) {
    if (!same(a, b, at)) continue;
    let n = 1;
    while (same(a, b, at + n)) n += 1;
    const toEnd = ended && at + n === a.length && a.length === b.length;
    if (n >= RUN || toEnd) return apart && apart.n > n ? apart : { at, other: at, n, toEnd };
    at += n - 1;
  }
  return apart;
}

// The longest end that both share, at other positions, behind the divergence.
function endInCommon(a, b, from, ended) {
  if (!ended || a.length === b.length) return null;
  const shift = b.length - a.length;
  let n = 0;
  while (a.length - n - 1 > from && b.length - n - 1 > from && same(a, b, a.length - n - 1, shift)) n += 1;
  return n >= RUN ? { at: a.length - n, other: b.length - n, n, toEnd: true } : null;
}

// The meeting in words.
export function meetingText(found) {
  if (!found) return "They do not meet again.";
  const { at, other, n, toEnd } = found;
  if (at !== other)
    return `The last ${n} tokens are the same again, from position ${at} in the baseline and ${other} in the lane.`;
  if (toEnd) return `They meet again: the same tokens from position ${at} to the end.`;
  return `They meet again at position ${at} for ${n} tokens, and part once more.`;
}
