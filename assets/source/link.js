// Every state is a link: /?s=41&r=12&i=3&view=compare&lanes=41,42. Other parameters are left alone.
// What the screen looks at it with (colour, pane, breakpoints, ...) is in look.js.

import { readLane } from "../compare/lane.js";
import { writeLook } from "./look.js";
import { viewOf } from "../views.js";

// A session's id; a recorded one has 0 or less.
const session = (text) => (text !== null && /^-?\d+$/.test(text) ? Number(text) : null);
const number = (text) => (text !== null && /^\d+$/.test(text) ? Number(text) : null);

export function read(search) {
  const query = new URLSearchParams(search);
  const [round, pos] = [number(query.get("r")), number(query.get("i"))];
  return {
    s: session(query.get("s")),
    cursor: round === null ? null : { round, pos: pos ?? -1, ...held(query) },
    view: viewOf(query.get("view"))?.id ?? "inspect",
    lanes: (query.get("lanes") ?? "")
      .split(",")
      .map(readLane)
      .filter((id) => id !== null),
    against: readLane(query.get("against") ?? ""),
    onlyDiffs: query.get("diff") === "1",
  };
}

// A sub-step, or a coin held elsewhere, at the cursor.
function held(query) {
  const [stage, u] = [number(query.get("stage")), Number.parseFloat(query.get("u"))];
  return { ...(stage === null ? {} : { stage }), ...(u >= 0 && u < 1 ? { suppose: u } : {}) };
}

// The address of a state. A screen that follows has no r and i: opened again, it follows again.
export function write(state, href) {
  const url = new URL(href);
  const set = (name, value) =>
    value === null ? url.searchParams.delete(name) : url.searchParams.set(name, value);
  const cursor = state.follow ? null : (state.cursor ?? state.want);
  set("s", state.focus);
  set("r", cursor ? cursor.round : null);
  set("i", cursor ? cursor.pos : null);
  set("stage", cursor ? (state.stage ?? cursor.stage ?? null) : null);
  set("u", cursor ? (state.suppose ?? cursor.suppose ?? null) : null);
  Object.entries(writeLook(state)).forEach(([name, value]) => set(name, value));
  set("view", state.view === "inspect" ? null : state.view);
  const compared = state.view === "compare" && state.lanes.length > 1;
  set("lanes", compared ? state.lanes.join(",") : null);
  set("against", compared && state.lanes.includes(state.against) ? state.against : null);
  set("diff", compared && state.onlyDiffs ? 1 : null);
  return url.href.replace(/%2C|%3A|%3D|%7E/g, decodeURIComponent);
}
