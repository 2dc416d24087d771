// The two pictures of a coin: where it fell against a threshold, and which slice of [0, 1) it hit.

import { el } from "./dom.js";
import { decimal } from "./format.js";

const at = (value) => `${(100 * Math.min(1, Math.max(0, value))).toFixed(3)}%`;

// A label above or below a point of the track, kept inside it at both ends.
function label(className, value, text) {
  const edge = value > 0.82 ? "to-left" : value < 0.18 ? "to-right" : "centred";
  const left = {
    "to-left": `min(calc(100% - 8px), ${at(value)})`,
    "to-right": `max(8px, ${at(value)})`,
    centred: at(value),
  }[edge];
  return el("span", { class: `${className} ${edge}`, style: { left } }, text);
}

// The ends of the track and one label; an end gives way to a label that would touch it.
function scale(value, text) {
  const end = (digit, crowded) => el("span", {}, crowded ? "" : digit);
  return el(
    "div",
    { class: "ds-dart-scale" },
    end("0", value < 0.4),
    label("ds-dart-name", value, text),
    end("1", value > 0.6),
  );
}

// The dart u on [0, 1) against the acceptance probability. `name` says what the threshold is.
export function dart(threshold, u, passed, name) {
  const words = u === null ? "no coin" : `u = ${decimal(u)}`;
  return el(
    "div",
    {
      class: "ds-dart",
      role: "img",
      "aria-label": `${words}, threshold ${decimal(threshold)}: ${passed ? "kept" : "not kept"}`,
    },
    u === null ? null : label("ds-dart-u", u, `u = ${decimal(u)}`),
    el(
      "div",
      { class: "ds-dart-track" },
      el(
        "div",
        { class: "ds-dart-keep", style: { width: at(threshold) } },
        threshold > 0.14 ? el("span", {}, "accept") : null,
      ),
      el("div", { class: "ds-dart-drop" }, threshold < 0.84 ? el("span", {}, "reject") : null),
      el("i", { class: "ds-dart-edge", style: { left: at(threshold) } }),
      u === null
        ? null
        : el("i", { class: `ds-dart-pin ${passed ? "is-accepted" : "is-rejected"}`, style: { left: at(u) } }),
    ),
    scale(threshold, `${name} = ${decimal(threshold)}`),
  );
}

// A small dart for a card: no words.
export function miniDart(threshold, u, passed) {
  return el(
    "div",
    { class: "ds-mini", "aria-hidden": "true" },
    el("div", { class: "ds-dart-keep", style: { width: at(threshold) } }),
    el("div", { class: "ds-dart-drop" }),
    u === null
      ? null
      : el("i", { class: `ds-dart-pin ${passed ? "is-accepted" : "is-rejected"}`, style: { left: at(u) } }),
  );
}

// The draw by inverse CDF: u and the slice of [0, 1) that belongs to the token it hit. A stored row that was
// cut to its top no longer says where the slice lies.
export function sliceTrack(draw, fate) {
  if (draw.u === null) return null;
  const [low, high] = draw.slice ?? [draw.u, draw.u];
  const words = draw.slice
    ? `its slice: ${decimal(low)} to ${decimal(high)}`
    : "slice not kept: the stored row is cut";
  return el(
    "div",
    { class: "ds-dart", role: "img", "aria-label": `u = ${decimal(draw.u)}, ${words}` },
    label("ds-dart-u", draw.u, `u = ${decimal(draw.u)}`),
    el(
      "div",
      { class: "ds-dart-track is-slice" },
      draw.slice &&
        el("div", {
          class: `ds-slice is-${fate}`,
          style: { left: at(low), width: `max(3px, ${at(high - low)})` },
        }),
      el("i", { class: `ds-dart-pin is-${fate}`, style: { left: at(draw.u) } }),
    ),
    scale((low + high) / 2, words),
  );
}
