// The two pictures of a coin: where it fell against a threshold, and which slice of [0, 1) it hit.

import { el } from "./dom.js";
import { decimal } from "./format.js";

const at = (value) => `${(100 * Math.min(1, Math.max(0, value))).toFixed(3)}%`;

// A letter of a label is 7.5 px wide; one in the middle stops where its end would leave the track.
function leftOf(edge, value, text) {
  const half = 3.75 * text.length;
  return {
    "to-left": `min(calc(100% - 8px), ${at(value)})`,
    "to-right": `max(8px, ${at(value)})`,
    centred: `clamp(${half}px, ${at(value)}, calc(100% - ${half}px))`,
  }[edge];
}

// A label above or below a point of the track, kept inside it at both ends.
function label(className, value, text) {
  const edge = edges(value);
  return el("span", { class: `${className} ${edge}`, style: { left: leftOf(edge, value, text) } }, text);
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

const edges = (value) => (value > 0.82 ? "to-left" : value < 0.18 ? "to-right" : "centred");

function track(threshold, ...pins) {
  return el(
    "div",
    { class: "ds-dart-track" },
    el(
      "div",
      { class: "ds-dart-keep", style: { width: at(threshold) } },
      threshold > 0.14 ? el("span", {}, "accept") : null,
    ),
    el("div", { class: "ds-dart-drop" }, threshold < 0.84 ? el("span", {}, "reject") : null),
    el("i", { class: "ds-dart-edge", style: { left: at(threshold) } }),
    pins,
  );
}

// The dart u on [0, 1) against the acceptance probability. `name` says what the threshold is. It can be
// dragged, and moved by the arrow keys: held(u) is called with the new place, held(null) puts it back.
// hold(u) shows it elsewhere, with a ghost where it fell; hold(null) shows it as it fell.
export function dart({ threshold, u, passed, name, held }) {
  const pin = el("div", { class: "ds-dart-pin", role: "slider", tabindex: "0", "aria-label": "coin u" });
  pin.setAttribute("aria-valuemin", "0");
  pin.setAttribute("aria-valuemax", "1");
  const ghost = el("i", { class: "ds-dart-pin is-ghost", hidden: true, style: { left: at(u) } });
  const name_ = el("span", { class: "ds-dart-u" });
  const line = track(threshold, ghost, pin);
  const root = el(
    "div",
    { class: "ds-dart" },
    name_,
    line,
    scale(threshold, `${name} = ${decimal(threshold)}`),
  );
  let now = u;
  const place = (value) => {
    now = Math.min(Math.max(value, 0), LAST_U); // at once: the next key may come before the next frame
    held(now);
  };
  const follow = (event) => {
    const box = line.getBoundingClientRect();
    place((event.clientX - box.left) / box.width);
  };
  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    line.setPointerCapture(event.pointerId);
    pin.focus({ preventScroll: true });
    if (!pin.contains(event.target)) follow(event);
  });
  line.addEventListener("pointermove", (event) => {
    if (line.hasPointerCapture(event.pointerId)) follow(event);
  });
  pin.addEventListener("keydown", (event) => {
    const to = moved(now, event);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === null) held(null);
    else place(to);
  });
  const hold = (value) => {
    now = value ?? u;
    const supposed = value !== null;
    const kept = supposed ? now < threshold : passed;
    pin.style.left = at(now);
    pin.className = `ds-dart-pin ${kept ? "is-accepted" : "is-rejected"}${supposed ? " is-held" : ""}`;
    ghost.hidden = !supposed;
    ghost.className = `ds-dart-pin is-ghost ${passed ? "is-accepted" : "is-rejected"}`;
    pin.setAttribute("aria-valuenow", now.toFixed(3));
    const words = supposed ? `, hypothetical; it fell at ${decimal(u)}` : "";
    pin.setAttribute(
      "aria-valuetext",
      `${decimal(now)}, threshold ${decimal(threshold)}: ${kept ? "kept" : "not kept"}${words}`,
    );
    name_.textContent = `u = ${decimal(now)}${supposed ? ` · fell at ${decimal(u)}` : ""}`;
    const edge = edges(supposed ? 0.5 + (now - 0.5) * 1.6 : now);
    name_.className = `ds-dart-u ${edge}`;
    name_.style.left = leftOf(edge, now, name_.textContent);
  };
  hold(null);
  return { root, hold };
}

// The largest coin there is to hold.
const LAST_U = 0.9999;

// Where a key moves the dart; null puts it back, undefined is no key of the dart.
function moved(u, { key, shiftKey }) {
  const fine = shiftKey ? 0.1 : 0.01;
  if (key === "Escape") return null;
  if (key === "Home") return 0;
  if (key === "End") return LAST_U;
  const by = {
    ArrowLeft: -fine,
    ArrowDown: -fine,
    ArrowRight: fine,
    ArrowUp: fine,
    PageDown: -0.1,
    PageUp: 0.1,
  }[key];
  return by === undefined ? undefined : u + by;
}

// One coin and two thresholds: the same u through both, and on which side of each it fell.
// sides: [{ name, label, threshold, kept }].
export function duel(u, sides) {
  const words = sides.map(
    ({ name, label, threshold, kept }) =>
      `${name}: ${label} = ${decimal(threshold)}, ${kept ? "kept" : "rejected"}`,
  );
  return el(
    "div",
    { class: "ds-duel", role: "img", "aria-label": `u = ${decimal(u)}. ${words.join("; ")}` },
    label("ds-dart-u", u, `u = ${decimal(u)}`),
    sides.map(({ name, label: letters, threshold, kept }) =>
      el(
        "div",
        { class: "ds-duelside" },
        track(
          threshold,
          el("i", { class: `ds-dart-pin ${kept ? "is-accepted" : "is-rejected"}`, style: { left: at(u) } }),
        ),
        scale(threshold, `${name}: ${letters} = ${decimal(threshold)}`),
      ),
    ),
  );
}

// A threshold without a coin: nothing fell, nothing to drag.
export function threshold(value, passed, name) {
  return el(
    "div",
    {
      class: "ds-dart is-coinless",
      role: "img",
      "aria-label": `no coin, threshold ${decimal(value)}: ${passed ? "kept" : "not kept"}`,
    },
    track(value),
    scale(value, `${name} = ${decimal(value)}`),
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

// The draw by inverse CDF: u and the slice of [0, 1) that belongs to the token it hit. Sessions of the first
// version did not keep the slice.
export function sliceTrack(draw, fate) {
  if (draw.u === null) return null;
  const [low, high] = draw.slice ?? [draw.u, draw.u];
  const words = draw.slice ? `its slice: ${decimal(low)} to ${decimal(high)}` : "the slice was not kept";
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
