// Why they part: the baseline and one lane at the first position where their tokens differ, on one scale.

import { button, el, quoted, replace, tableHead } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { isLive } from "../source/store.js";
import { duel, sliceTrack } from "../parts/tracks.js";
import { chosenLane } from "./lane.js";
import { meeting, meetingText } from "./meet.js";
import { whyTheyPart } from "./why.js";

export function whyPanel(store, actions) {
  const title = el("h2", {}, "Why they part");
  const lane = el("select", { class: "ds-select", "aria-label": "Lane to hold against the baseline" });
  const body = el("div", { class: "ds-whybody" });
  const root = el(
    "section",
    { class: "ds-panel ds-why", "aria-label": "Why they part" },
    el("header", { class: "ds-head" }, title, el("label", {}, "baseline against ", lane)),
    body,
  );
  lane.addEventListener("change", () => {
    const { lanes } = store.get();
    store.dispatch({
      type: "set",
      values: { against: lanes.find((id) => String(id) === lane.value) ?? null },
    });
  });
  return {
    root,
    render(lanes, state) {
      root.hidden = lanes.length < 2;
      if (root.hidden) return;
      const by = new Map(lanes.map((one) => [one.id, one]));
      const id = chosenLane(
        lanes.map((one) => one.id),
        { against: state.against, focus: state.focus, parts: (one) => by.get(one).parts !== null },
      );
      replace(
        lane,
        lanes
          .slice(1)
          .map((one, i) =>
            el(
              "option",
              { value: one.id, selected: one.id === id },
              `${i + 2} ${one.name}${one.judged ? " (re-judged)" : ""}`,
            ),
          ),
      );
      replace(body, contents(lanes[0], by.get(id), actions));
    },
  };
}

function contents(baseline, lane, actions) {
  if (lane.parts === null) {
    const none = lane.tokens.length === 0 && lane.judged;
    return el(
      "p",
      { class: "ds-empty" },
      none ? `Nothing to hold against each other: ${lane.judged.why}.` : "They have not parted.",
    );
  }
  const found = whyTheyPart(baseline.session, lane.session, lane.parts);
  const there = button(`Go to position ${lane.parts}`, {
    class: "ds-button is-small",
    "data-key": "why-go",
    onclick: () => actions.openAt(baseline.id, lane.parts),
  });
  if (!found)
    return [
      el("p", { class: "ds-whysentence" }, branchText(baseline, lane)),
      el("div", { class: "ds-whyfoot" }, there),
    ];
  return [
    el("p", { class: "ds-whysentence" }, sentence(found.sentence, baseline, lane)),
    pictures(found),
    table(found, baseline, lane),
    found.rows ? el("p", { class: "ds-hint" }, found.rows) : null,
    el("div", { class: "ds-whyfoot" }, there, el("span", { class: "ds-hint" }, ending(baseline, lane))),
  ];
}

const branchText = (baseline, lane) =>
  `The token at position ${lane.parts} was given, not generated: one of the two is a branch that begins with it.`;

function sentence(parts, baseline, lane) {
  const piece = (id) => baseline.piece(id) ?? lane.piece(id);
  return parts.map((part) => (typeof part === "string" ? part : quoted(piece(part.token))));
}

function ending(baseline, lane) {
  if (isLive(baseline.session.status) || isLive(lane.session.status)) return "Both are not finished yet.";
  if (lane.judged?.why) return "What follows in this lane needs a run.";
  return meetingText(meeting(baseline.tokens, lane.tokens, lane.parts));
}

// One coin over two thresholds, where both had the same draft and coin.
function pictures({ sides: [a, b], sameCoin }) {
  if (!sameCoin) return null;
  return duel(a.draft.u, [
    { name: a.rule, threshold: a.draft.threshold, kept: a.fate === "accepted", label: a.draft.name },
    { name: b.rule, threshold: b.draft.threshold, kept: b.fate === "accepted", label: b.draft.name },
  ]);
}

const limitText = ({ name, threshold }) =>
  name ? `${name} = ${decimal(threshold)}` : `accepts with probability ${decimal(threshold)}`;

function table({ sides }, baseline, lane) {
  const [a, b] = sides;
  const pieces = [baseline.piece, lane.piece];
  const line = (name, of) => {
    const cells = sides.map((side, i) => of(side, pieces[i]));
    return cells.every((cell) => cell === null)
      ? null
      : el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          cells.map((cell) => el("td", {}, cell ?? "–")),
        );
  };
  const token = (id, piece) => quoted(piece(id));
  return el(
    "table",
    { class: "ds-table ds-whytable" },
    tableHead(["", `baseline: ${a.rule}`, `lane: ${b.rule}`]),
    el(
      "tbody",
      {},
      line("draft", ({ draft }, piece) => draft && token(draft.x, piece)),
      line("target p, draft q", ({ draft }) => draft && `${percent(draft.p)}, ${percent(draft.q)}`),
      line("threshold", ({ draft }) => draft && (draft.threshold === null ? null : limitText(draft))),
      line("coin u", ({ draft }) => draft && (draft.u === null ? "no coin" : decimal(draft.u))),
      line("outcome", ({ draft, fate }) => draft && (fate === "accepted" ? "kept" : "rejected")),
      line(
        "draw",
        ({ draw }) => draw && (draw.u === null ? draw.from : [draw.from, sliceTrack(draw, "corrected")]),
      ),
      line("emitted", ({ token: id }, piece) => token(id, piece)),
    ),
  );
}
