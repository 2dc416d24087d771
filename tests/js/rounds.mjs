// Rounds as the view model sends them, by hand: letters for fates, a accepted, r rejected, u untested.

const FATES = { a: "accepted", r: "rejected", u: "untested" };

export function round(i, fates, { next = 90 + i, x = 10 } = {}) {
  const accepted = [...fates].filter((fate) => fate === "a").length;
  const source = next === null ? "ended" : accepted === fates.length ? "bonus" : "corrected";
  return {
    i,
    start: 0,
    k: fates.length,
    tested: Math.min(accepted + 1, fates.length),
    accepted,
    emitted: accepted + (next === null ? 0 : 1),
    source,
    positions: [...fates].map((fate, pos) => draft(FATES[fate], x + pos)),
    next:
      next === null
        ? null
        : { token: next, source, draw: { token: next, u: 0.5, slice: [0, 1] }, p: 0.5, residual: null },
    times: [1, 2, 3],
  };
}

export function draft(fate, x = 10, more = {}) {
  const tested = fate !== "untested";
  return {
    x,
    fate,
    p: 0.2,
    q: 0.4,
    accept_prob: tested ? 0.5 : null,
    u: tested ? (fate === "accepted" ? 0.3 : 0.7) : null,
    passed: tested ? fate === "accepted" : null,
    own: { token: x, u: 0.1, slice: [0, 1] },
    draw: { token: x, u: 0.1, slice: [0, 1] },
    rescued: false,
    ...more,
  };
}

export const words = (parts, pieces = {}) =>
  parts.map((part) => (typeof part === "string" ? part : `<${pieces[part.token] ?? part.token}>`)).join("");
