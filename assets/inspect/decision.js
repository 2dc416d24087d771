// The heart of the screen: why the selected token has its fate. Numbers are the event's own; a coin that is
// dragged elsewhere is answered by hypothesis.js, and badged. The parts of the panel are in decision_*.js.

import { valueOf } from "../time/breaks.js";
import { coinOf, draftBody, titleOf } from "./decision_draft.js";
import { early, shows } from "./decision_early.js";
import { nextBody } from "./decision_next.js";
import { supposedBody, supposition } from "./decision_supposed.js";
import { el, replace } from "../parts/dom.js";
import { revealed } from "./stages.js";
import { selected } from "../source/store.js";

export function decisionPanel(store, actions) {
  const place = el("p", { class: "ds-place" });
  const json = el(
    "button",
    {
      type: "button",
      class: "ds-button is-small",
      title: "Copy this position as JSON (j)",
      onclick: () => actions.run("json"),
    },
    "JSON",
  );
  const body = el("div", { class: "ds-decision-body" });
  const root = el(
    "section",
    { class: "ds-panel ds-decision", "aria-label": "Decision" },
    el("header", { class: "ds-head" }, el("h2", {}, "Decision"), place, actions.copyJson ? json : null),
    body,
  );
  let drawn = null;
  let parts = null; // { coin, below }: what a drag changes
  let supposed = null;
  let of = null; // the round
  const held = (u) => store.dispatch({ type: "suppose", u });

  function build(state, session, round, rule) {
    const seen = revealed(round, state.stage);
    parts = null;
    const pos = state.cursor.pos;
    if (seen.kind === "target" || !shows(round, pos, seen, rule)) {
      return [...early(session, round, pos, seen), ruleLine(rule)];
    }
    const position = round.positions[pos];
    if (!position) return [...nextBody(session, round), ruleLine(rule)];
    parts = {
      coin: coinOf(position, session.head.rule, held),
      below: el("div", { class: "ds-below" }),
      title: el("h3", {}),
    };
    return [parts.title, parts.coin?.root ?? null, parts.below, ruleLine(rule)];
  }

  function fill(state, session, round) {
    const pos = state.cursor.pos;
    const outcome = supposition(state, session, round);
    parts.coin?.hold?.(outcome ? state.suppose : null);
    const seen = revealed(round, state.stage);
    replace(parts.title, titleOf(session, round, pos, outcome, state.breaks));
    replace(
      parts.below,
      outcome ? supposedBody(session, round, pos, outcome, held) : draftBody(session, round, pos, seen),
    );
  }

  return {
    root,
    render(state) {
      const { session, round } = selected(state);
      const ready = round && session.head;
      const rule = ready ? (state.choices?.rules.find((one) => one.id === session.head.rule) ?? null) : null;
      const near = valueOf(state.breaks, "near");
      const key = ready
        ? `${session.id}/${round.i}/${state.cursor.pos}/${state.stage}/${rule?.id}/${near}`
        : "";
      if (key === drawn && state.suppose === supposed && round === of) return;
      const fresh = key !== drawn; // a round with more rows changes what is below the coin, never a held coin
      [drawn, supposed, of] = [key, state.suppose, round];
      place.textContent = ready
        ? `round ${round.i} · position ${round.start + placeOf(round, state.cursor.pos)}`
        : "";
      json.hidden = !ready;
      if (!ready) {
        parts = null;
        replace(body, el("p", { class: "ds-empty" }, "Select a token to see how it was decided."));
        return;
      }
      if (fresh) replace(body, build(state, session, round, rule));
      if (parts) fill(state, session, round);
    },
  };
}

// A corrected token stands where the rejected draft stood.
const placeOf = (round, pos) => (pos === round.k ? round.accepted : pos);

// The rule that decided, in its own letters.
function ruleLine(rule) {
  return (
    rule && el("p", { class: "ds-ruleline" }, el("b", {}, rule.title), " ", el("code", {}, rule.formula))
  );
}
