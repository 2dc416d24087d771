// What a rejection draws from, as bars.

import { el, tokenText } from "../parts/dom.js";
import { percent } from "../parts/format.js";

const SHOWN = 6;

// rows: [{ token, prob, hit }], most probable first; `rest` is the mass of tokens that are not in them.
export function residualTable(session, caption, rows, rest) {
  const shown = rows.filter((row, i) => i < SHOWN || row.hit);
  const hidden = rows.filter((row) => !shown.includes(row)).reduce((sum, row) => sum + row.prob, rest);
  const largest = Math.max(hidden, ...shown.map((row) => row.prob));
  const line = (name, prob, className) =>
    el(
      "tr",
      { class: className },
      el("th", { scope: "row" }, name),
      el(
        "td",
        { class: "ds-bar-cell" },
        el("div", { class: "ds-residual-bar", style: { width: `${(100 * prob) / largest}%` } }),
      ),
      el("td", { class: "ds-number" }, percent(prob)),
    );
  return el(
    "table",
    { class: "ds-residual" },
    el("caption", {}, caption),
    el(
      "tbody",
      {},
      shown.map(({ token, prob, hit }) =>
        line(tokenText(session.pieces[token], 14), prob, hit ? "is-hit" : null),
      ),
      hidden > 1e-12 ? line("rest of vocabulary", hidden, "is-rest") : null,
    ),
  );
}
