// The two pictures of a coin: where it fell against a threshold, and which slice of [0, 1) it hit.

import { el } from "./dom.js";
import { decimal } from "./format.js";

const at = (value) => `${(100 * Math.min(1, Math.max(0, value))).toFixed(3)}%`;

// A label above or below a point of the track, kept inside it at both ends.
function label(className, value, text) {
  const edge = value > 0.82 ? "to-left" : value < 0.18 ? "to-right" : "centred";
  return el("span", { class: `${className} ${edge}`, style: { left: at(value) } }, text);
}

// The dart u on [0, 1) against the acceptance probability. `name` says what the threshold is.
export function dart(threshold, u, passed, name) {
  const words = u === null ? "no coin" : `u = ${decimal(u)}`;
  return el(
    "div",
    { class: "ds-dart", role: "img", "aria-label": `${words}, threshold ${decimal(threshold)}: ${passed ? "kept" : "not kept"}` },
    u === null ? null : label("ds-dart-u", u, `u = ${decimal(u)}`),
    el(
      "div",
      { class: "ds-dart-track" },
      el("div", { class: "ds-dart-keep", style: { width: at(threshold) } }, threshold > 0.14 ? el("span", {}, "accept") : null),
      el("div", { class: "ds-dart-drop" }, threshold < 0.84 ? el("span", {}, "reject") : null),
      el("i", { class: "ds-dart-edge", style: { left: at(threshold) } }),
      u === null ? null : el("i", { class: `ds-dart-pin ${passed ? "is-accepted" : "is-rejected"}`, style: { left: at(u) } }),
    ),
    el("div", { class: "ds-dart-scale" }, el("span", {}, "0"), label("ds-dart-name", threshold, `${name} = ${decimal(threshold)}`), el("span", {}, "1")),
  );
}

// A small dart for a card: no words.
export function miniDart(threshold, u, passed) {
  return el(
    "div",
    { class: "ds-mini", "aria-hidden": "true" },
    el("div", { class: "ds-dart-keep", style: { width: at(threshold) } }),
    el("div", { class: "ds-dart-drop" }),
    u === null ? null : el("i", { class: `ds-dart-pin ${passed ? "is-accepted" : "is-rejected"}`, style: { left: at(u) } }),
  );
}

// The draw by inverse CDF: u and the slice of [0, 1) that belongs to the token it hit.
export function sliceTrack(draw, fate) {
  if (draw.u === null || draw.slice === null) return null;
  const [low, high] = draw.slice;
  return el(
    "div",
    { class: "ds-dart", role: "img", "aria-label": `coin ${decimal(draw.u)} falls into the slice from ${decimal(low)} to ${decimal(high)}` },
    label("ds-dart-u", draw.u, `u = ${decimal(draw.u)}`),
    el(
      "div",
      { class: "ds-dart-track is-slice" },
      el("div", { class: `ds-slice is-${fate}`, style: { left: at(low), width: `max(3px, ${at(high - low)})` } }),
      el("i", { class: `ds-dart-pin is-${fate}`, style: { left: at(draw.u) } }),
    ),
    el("div", { class: "ds-dart-scale" }, el("span", {}, "0"), label("ds-dart-name", (low + high) / 2, `its slice: ${decimal(low)} to ${decimal(high)}`), el("span", {}, "1")),
  );
}
