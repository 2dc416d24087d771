// The lanes as a list: what each is, how it stands to the baseline, and what can be done with it.

import { button, el, tableHead } from "../parts/dom.js";
import { count, decimal } from "../parts/format.js";
import { isLive } from "../source/store.js";
import { watermark } from "../tour/watermark.js";
import { isSession } from "./lane.js";
import { meeting, meetingText } from "./meet.js";

export function laneList(lanes, state, actions) {
  return el(
    "table",
    { class: "ds-table ds-metrics" },
    el("caption", { class: "ds-sr" }, "Lanes"),
    tableHead(["", "lane", "is", "against the baseline", ""]),
    el(
      "tbody",
      {},
      lanes.map((lane, i) => row(lanes, lane, i, state, actions)),
    ),
  );
}

function row(lanes, lane, i, state, actions) {
  const { session, id } = lane;
  const chosen = state.focus === id || state.against === id;
  return el(
    "tr",
    { class: chosen ? "is-current" : null, "data-lane": id },
    el(
      "td",
      { class: "ds-lanekey" },
      el("kbd", { title: `Press ${i + 1} to go to this lane` }, String(i + 1)),
    ),
    el(
      "th",
      { scope: "row" },
      button(lane.name, {
        class: "ds-lanename",
        title: `${isSession(id) ? "Look at this lane" : "Hold this lane against the baseline"} (${i + 1})`,
        "data-key": `lanename-${id}`,
        onclick: () => actions.open(id),
      }),
      isSession(id) ? el("small", {}, ` #${id}`) : null,
      session.head.reason
        ? el("small", { title: session.head.reason }, ` instead of ${session.head.asked}`)
        : null,
      watermark(session.head),
    ),
    el("td", {}, kindOf(lanes, lane), ` ${count(lane.tokens.length, "token")}`),
    el("td", { class: "ds-laneagainst" }, against(lanes, lane, i, state, actions)),
    el("td", { class: "ds-lanetools" }, tools(lane, i, lanes, actions)),
  );
}

// Re-judged and re-run are never confused: each lane says which it is.
function kindOf(lanes, { id, session, judged }) {
  if (judged) {
    const title = "no model ran: the stored drafts, judged again with the same coins";
    return el("em", { class: "ds-kind is-judged", title }, "re-judged");
  }
  const { head, status } = session;
  const kind = { rerun: "re-run", branch: "branch" }[head.relation] ?? "session";
  const of = head.parent_id === null || head.parent_id === undefined ? "" : ` of #${head.parent_id}`;
  const says = status === "finished" ? "" : `, ${status}`;
  return el("em", { class: "ds-kind", title: `${kind}${of}` }, `${kind}${says}`);
}

function against(lanes, lane, i, state, actions) {
  if (i === 0) return el("em", { class: "ds-kind" }, "baseline");
  return [repeated(lanes[0], lane, state), parting(lanes[0], lane), needsRun(lane, actions)];
}

// Whether the baseline's own re-run repeats it. Said of nothing else, and only when both have ended.
function repeated(baseline, { session, judged }, state) {
  const line = state.lines[session.id];
  const own = judged
    ? judged.of === baseline.id
    : session.head.relation === "rerun" && session.head.parent_id === baseline.id;
  if (!own || line?.reproduced === undefined || isLive(session.status)) return null;
  if (line.reproduced === null) return el("em", { class: "ds-kind" }, "the same as far as it goes");
  if (line.reproduced)
    return el(
      "em",
      { class: "ds-kind is-good", title: "every token and every coin" },
      judged ? "confirmed" : "reproduced",
    );
  return [
    el("em", { class: "ds-kind is-faulty" }, "not reproduced"),
    el("span", { class: "ds-unlike" }, `${line.difference}. ${rowText(line.row)} `),
  ];
}

// The first row that is not the same: then the lane goes on, from numbers that are a little off.
export function rowText(row) {
  if (!row) return "All rows of the models are the same.";
  const { side, position, round, largest, tv } = row;
  return `The first row that differs is ${side} at position ${position} (round ${round}), by up to ${decimal(largest)} (TV ${decimal(tv)}); the lane goes on from there.`;
}

function parting(baseline, lane) {
  if (lane.tokens.length === 0 && lane.judged) return null;
  if (lane.tokens.length === 0) return "–";
  const ended = !isLive(lane.session.status) && !isLive(baseline.session.status);
  if (lane.parts === null) {
    if (lane.judged?.why) return "same tokens so far";
    return ended && baseline.tokens.length === lane.tokens.length ? "same tokens" : "same so far";
  }
  const whole = ended && !lane.judged?.why;
  const found = whole ? meeting(baseline.tokens, lane.tokens, lane.parts) : null;
  return [
    `diverges at position ${lane.parts}`,
    found ? el("small", { title: meetingText(found) }, ` · meets again at ${found.at}`) : null,
  ];
}

function needsRun({ id, judged, name }, actions) {
  if (!judged?.why) return null;
  return [
    el("span", { class: "ds-unlike" }, ` ends here: ${judged.why}. `),
    judged.exact
      ? null
      : el("span", { class: "ds-unlike" }, `Rows lack up to ${decimal(judged.missing)} of their mass. `),
    actions.canRerun
      ? button("Re-run", {
          class: "ds-button is-small",
          "aria-label": `Re-run ${name} to go on`,
          "data-key": `runjudged-${id}`,
          onclick: () => actions.compare.runJudged(id),
        })
      : null,
  ];
}

function tools({ id, name }, i, lanes, actions) {
  const tool = (text, label, enabled, work) =>
    button(text, {
      class: "ds-button is-small",
      "aria-label": `${label}: ${name}`,
      title: label,
      disabled: !enabled,
      "data-key": `${label}-${id}`,
      onclick: work,
    });
  const { compare } = actions;
  const up = i > 1 || (i === 1 && isSession(id));
  const down = i < lanes.length - 1 && (i > 0 || isSession(lanes[1].id));
  return [
    tool("▲", "Move up", up, () => compare.moveLane(id, -1)),
    tool("▼", "Move down", down, () => compare.moveLane(id, 1)),
    tool("⇤", "Make the baseline", i > 0 && isSession(id), () => compare.makeBaseline(id)),
    tool("×", "Take this lane away", i > 0 || lanes.slice(1).some((lane) => isSession(lane.id)), () =>
      compare.dropLane(id),
    ),
  ];
}
