// What a coin held elsewhere would have done, badged as hypothetical.

import { words } from "./decision_words.js";
import { el, tokenText } from "../parts/dom.js";
import { decimal } from "../parts/format.js";
import { canSuppose, suppose, supposedFates } from "./hypothesis.js";
import { residualTable } from "./residual.js";

export function supposition(state, session, round) {
  const position = round.positions[state.cursor.pos];
  if (state.suppose === null || !canSuppose(position, session.head.rule).can) return null;
  return suppose(round, state.cursor.pos, session.head.rule, state.suppose, session.head.params);
}

export function supposedBody(session, round, pos, outcome, held) {
  const fates = supposedFates(round, pos, outcome);
  const say = words(session);
  return [
    el("p", { class: "ds-sentence" }, say(outcome.said)),
    el(
      "p",
      { class: "ds-supposed" },
      fates.map((fate, i) =>
        el(
          "span",
          { class: `ds-token is-${fate ?? "unknown"}`, title: fate ?? "not known" },
          tokenText(session.pieces[round.positions[i].x], 14),
          fate === null ? el("small", {}, " ?") : null,
        ),
      ),
      outcome.next
        ? [
            "→ ",
            el(
              "span",
              { class: `ds-token is-${outcome.n === round.k ? "bonus" : "corrected"}` },
              tokenText(session.pieces[outcome.next.token], 14),
            ),
          ]
        : null,
    ),
    outcome.residual ? supposedResidual(session, outcome.residual) : null,
    el(
      "button",
      { type: "button", class: "ds-button is-small", "data-key": "as-it-fell", onclick: () => held(null) },
      "Put the coin back (Esc)",
    ),
  ];
}

function supposedResidual(session, residual) {
  if (residual.degenerate) return null;
  const rows = residual.top.map(([token, prob]) => ({ token, prob, hit: false }));
  return residualTable(
    session,
    `What would be drawn from, mass Z = ${decimal(residual.mass)}`,
    rows,
    residual.rest,
  );
}
