// Compare: one session beside its re-runs, its re-judged lanes and others of its prompt; the baseline first.

import { firstDivergence, output, pieceOf } from "./align.js";
import { el, replace, setText } from "../parts/dom.js";
import { placeAt } from "../time/places.js";
import { lineKeeper } from "./actions.js";
import { chooser } from "./chooser.js";
import { isSession, laneName } from "./lane.js";
import { laneList } from "./lane_list.js";
import { staffOf } from "./staff.js";
import { numbersTable } from "./table_view.js";
import { whyPanel } from "./why_panel.js";

const CHAR_PX = 7.9;
const NAME_PX = 176;

export function lanesView(store, outer, source) {
  const actions = { ...outer, openAt: (id, at) => openAt(store.get(), outer.open, id, at) };
  const adding = chooser(store, actions);
  const list = el("section", { class: "ds-panel ds-lanelist", "aria-label": "Lanes" });
  const facts = el("p", { class: "ds-facts" });
  const only = el("input", { type: "checkbox" });
  const flow = el("div", { class: "ds-staves" });
  const staff = el(
    "section",
    { class: "ds-panel ds-staff", "aria-label": "Lanes side by side" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Lanes"),
      facts,
      el("label", { class: "ds-check" }, only, "differences only"),
    ),
    flow,
  );
  const why = whyPanel(store, actions);
  const numbers = el("section", { class: "ds-panel ds-numberspanel", "aria-label": "Lanes in numbers" });
  const root = el("div", { class: "ds-lanes" }, adding.root, list, why.root, staff, numbers);
  const keep = lineKeeper(store, source);
  only.addEventListener("change", () => store.dispatch({ type: "set", values: { onlyDiffs: only.checked } }));
  let drawn = [];

  return {
    root,
    render(state) {
      root.hidden = state.view !== "compare";
      if (root.hidden) return;
      adding.render(state);
      keep();
      const ids = state.lanes.filter((id) => state.sessions[id]?.head);
      const width = Math.floor((staff.clientWidth - NAME_PX) / CHAR_PX);
      const key = [...ids.map((id) => state.sessions[id]), ...KEYS.map((name) => state[name]), width];
      if (key.length === drawn.length && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      for (const part of [list, staff, numbers]) part.hidden = ids.length === 0;
      if (ids.length === 0) return;
      only.checked = state.onlyDiffs;
      const lanes = lanesOf(state, ids);
      setText(facts, divergenceText(lanes));
      replace(list, laneList(lanes, state, actions));
      replace(flow, staffOf(lanes, Math.max(24, width), state, actions));
      why.render(lanes, state);
      replace(numbers, numbersTable(lanes, state, actions));
    },
  };
}

// What, beside the sessions themselves, the picture depends on.
const KEYS = ["lanes", "cursor", "focus", "against", "onlyDiffs", "lines", "columns", "choices"];

function lanesOf(state, ids) {
  const rules = state.choices?.rules ?? [];
  const sessions = ids.map((id) => state.sessions[id]);
  const outputs = sessions.map(output);
  return sessions.map((session, i) => ({
    id: ids[i],
    session,
    tokens: outputs[i],
    piece: (id) => pieceOf(session, id),
    name: laneName(session.head, i === 0 ? null : sessions[0].head, rules),
    parts: i === 0 ? null : firstDivergence(outputs[0], outputs[i]),
    judged: session.head.judged ?? null,
  }));
}

// Looks at a lane at an output position. A re-judged lane is chosen, and its position looked at in the session
// whose drafts it has; a token that was given has no round to look at.
function openAt({ sessions, lanes }, open, id, at) {
  if (isSession(id)) return open(id, placeAt(sessions[id], at));
  open(id);
  const owner = sessions[id].head.judged.of;
  return lanes.includes(owner) && open(owner, placeAt(sessions[owner], at));
}

function divergenceText(lanes) {
  if (lanes.length < 2) return "choose rules above to add lanes";
  const found = lanes
    .slice(1)
    .map((lane) => lane.parts)
    .filter((at) => at !== null);
  return found.length ? `first divergence at position ${Math.min(...found)}` : "no divergence so far";
}
