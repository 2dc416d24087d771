// A line from 0 to 1 cut into parts, and a dart on it. The same line serves a draw by its slices and a coin by its
// threshold.

import { el, replace, setText } from "../parts/dom.js";
import { decimal } from "../parts/format.js";
import { at, slidable } from "./slide.js";

// The largest dart there is to hold.
const LAST = 0.9999;

// parts: [{ low, high, name, kind }]. moved(u) is called while the dart is dragged, moved(null) to put it back.
export function dartLine(label, moved) {
  const bands = el("div", { class: "ds-lab-bands" });
  const ghost = el("i", { class: "ds-lab-pin is-ghost", hidden: true });
  const pin = el("i", { class: "ds-lab-pin" });
  const line = el("div", { class: "ds-lab-line" }, bands, ghost, pin);
  const number = el("b", { class: "ds-lab-u" });
  const root = el("div", { class: "ds-lab-dart" }, number, line);
  const say = slidable(line, pin, label, moved, { max: LAST });
  let drawn = "";

  function drawParts(parts, hit) {
    const key = JSON.stringify([parts, hit]);
    if (key === drawn) return;
    drawn = key;
    replace(
      bands,
      parts.map(({ low, high, name, kind }, i) =>
        el(
          "span",
          {
            class: `ds-lab-band is-${kind}${i === hit ? " is-hit" : ""}`,
            style: { left: at(low), width: at(high - low) },
            title: `${name}: from ${decimal(low)} to ${decimal(high)}`,
          },
          high - low > 0.035 * Math.max(2, name.length / 2) ? el("em", {}, name) : "",
        ),
      ),
    );
  }

  return {
    root,
    // fell: where the coin fell, or null while it is not shown; held: where it was dragged to, or null.
    show({ parts, fell, held = null, words = "" }) {
      const u = held ?? fell;
      const hit = u === null ? -1 : parts.findIndex(({ low, high }) => u >= low && u < high);
      drawParts(parts, hit);
      line.toggleAttribute("data-still", u === null);
      pin.hidden = u === null;
      ghost.hidden = held === null;
      root.classList.toggle("is-held", held !== null);
      setText(
        number,
        u === null ? "" : `u = ${decimal(u)}${held === null ? "" : ` · fell at ${decimal(fell)}`}`,
      );
      if (u === null) return;
      pin.style.left = at(u);
      ghost.style.left = at(fell);
      number.style.left = `clamp(0px, calc(${at(u)} - 30px), calc(100% - ${number.textContent.length * 7.5}px))`;
      say(u, `${decimal(u)}: ${parts[hit]?.name ?? ""}${words}`);
    },
  };
}

// The parts of a draw from a row, by token.
export const tokenParts = (slices, names) =>
  slices.map(({ token, low, high }, i) => ({ low, high, name: names[token], kind: i % 2 ? "odd" : "even" }));

// The parts of a coin against a threshold.
export const coinParts = (threshold) =>
  [
    { low: 0, high: threshold, name: "kept", kind: "kept" },
    { low: threshold, high: 1, name: "rejected", kind: "dropped" },
  ].filter(({ low, high }) => low < high);
