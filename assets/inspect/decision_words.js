// What the parts of the decision panel share: tokens in sentences, facts, badges.

import { el, quoted } from "../parts/dom.js";

// A sentence of strings and { token }, as elements.
export const words = (session) => (list) =>
  list.map((part) => (typeof part === "string" ? part : quoted(session.pieces[part.token])));

// A line of a list of facts.
export function fact(name, value, className = "") {
  return el("div", { class: `ds-fact ${className}`.trim() }, el("dt", {}, name), el("dd", {}, value));
}

// What a token became, as a badge; `position` is null for the token that follows the drafts.
export function badge(round, position) {
  const fate = position ? position.fate : round.next.source;
  const word = position?.rescued ? "accepted · rescued" : round.k === 0 ? "target step" : fate;
  return [
    el("span", { class: `ds-badge is-${fate}` }, word),
    !position && round.next.residual?.degenerate
      ? el("span", { class: "ds-badge is-near" }, "degenerate")
      : null,
  ];
}
