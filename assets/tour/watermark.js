// The sentence that a session carries for good when it is faulty on purpose. It comes with every head, row and
// line of numbers; nothing here decides who gets one.

import { el, setText } from "../parts/dom.js";

export const watermark = (of) => (of?.watermark ? el("span", { class: "ds-watermark" }, of.watermark) : null);

// A strip across the screen, for the session on view.
export function watermarkStrip() {
  const root = el("p", { class: "ds-watermark is-strip", hidden: true });
  return {
    root,
    show(of) {
      root.hidden = !of?.watermark;
      setText(root, of?.watermark ?? "");
    },
  };
}
