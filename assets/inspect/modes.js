// What the colour of the text says: the fate of each token, or one number of it in five levels. Pure.

import { decimal } from "../parts/format.js";

const draftOnly = (read) => (place) => (place.x === undefined ? null : read(place));

export const MODES = {
  fate: { title: "fate", says: "what became of each token" },
  surprise: {
    title: "surprise",
    says: "−ln p of the token under the target, in nats: 0 is certain",
    edges: [0.1, 0.7, 2.3, 4.6],
    of: (place) =>
      place.p === null || place.p === undefined ? null : place.p === 0 ? Infinity : -Math.log(place.p),
  },
  entropy: {
    title: "entropy of p",
    says: "how unsure the target was there, in nats",
    edges: [0.1, 0.5, 1, 2],
    of: (place) => place.entropy?.[0] ?? null,
  },
  tv: {
    title: "TV(p, q)",
    says: "how far draft and target were apart: 0 the same, 1 nothing in common",
    edges: [0.05, 0.2, 0.4, 0.7],
    of: draftOnly((place) => place.tv),
  },
  acceptance: {
    title: "acceptance",
    says: "the probability with which this rule keeps this draft",
    edges: [0.2, 0.4, 0.6, 0.8],
    of: draftOnly((place) => place.accept_prob),
  },
};

export const LEVELS = 5;

// 0 to 4, or null where the token has no such number.
export function levelOf(mode, place) {
  const value = MODES[mode].of?.(place) ?? null;
  return value === null ? null : MODES[mode].edges.filter((edge) => value >= edge).length;
}

// "0.1 – 0.7": the values of a level.
export function levelText(mode, level) {
  const { edges } = MODES[mode];
  if (level === 0) return `under ${decimal(edges[0])}`;
  return level === edges.length
    ? `${decimal(edges.at(-1))} and more`
    : `${decimal(edges[level - 1])} – ${decimal(edges[level])}`;
}

// The number itself, for the hover card.
export function valueText(mode, place) {
  const value = MODES[mode].of?.(place) ?? null;
  return value === null ? "–" : value === Infinity ? "∞" : decimal(value);
}
