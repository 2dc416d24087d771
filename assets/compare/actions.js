// What Compare does beyond looking: lanes added, moved and dropped, and their lines of the table kept fresh.

import { placeAt, positionAt } from "../time/places.js";
import { isLive } from "../source/store.js";
import { isSession, judgedId, judgedOf, moved, without } from "./lane.js";

export const MOST = 8;
const AGAIN_MS = 1500;

export function laneActions(store, source, { guarded, refresh, show }) {
  const state = () => store.get();
  const put = (ids) => {
    store.dispatch({ type: "lanes", ids });
    return show(ids);
  };
  const baseline = () => state().lanes[0] ?? state().focus;
  const add = (ids) => put([...state().lanes, ...ids].slice(0, MOST));
  const line = {
    // Runs the baseline again in each lane; the new sessions stand behind the lanes there are.
    async rerun(lanes, at = null) {
      const parent = baseline();
      const answer = await guarded(() => source.rerun(parent, lanes));
      if (!answer) return null;
      const there = state().lanes.length ? state().lanes : [parent];
      if (at === null) await put([...there, ...answer.sessions].slice(0, MOST));
      else await put(there.map((id, i) => (i === at ? answer.sessions[0] : id)));
      return refresh();
    },
    // The stored drafts under each rule, without a model.
    rejudge: (lanes) => add(lanes.map(({ rule, params }) => judgedId(baseline(), rule, params))),
    // A re-judged lane that ended gives its place to a run.
    runJudged(id) {
      const { session, rule, params } = judgedOf(id);
      const lane = [{ rule, params }];
      return session === baseline()
        ? line.rerun(lane, state().lanes.indexOf(id))
        : guarded(() => source.rerun(session, lane)).then(
            (answer) => answer && put(state().lanes.map((one) => (one === id ? answer.sessions[0] : one))),
          );
    },
    addSession: (id) => add([id]),
    moveLane: (id, by) => put(moved(state().lanes, state().lanes.indexOf(id), by)),
    makeBaseline: (id) => put(moved(state().lanes, state().lanes.indexOf(id), -state().lanes.indexOf(id))),
    dropLane(id) {
      const lanes = without(state().lanes, id);
      if (state().against === id) store.dispatch({ type: "set", values: { against: null } });
      return put(lanes);
    },
  };
  return line;
}

// A lane that is opened keeps the place in the answer: every lane has the same cursor.
export function samePlace({ view, lanes, focus, cursor, sessions }, id) {
  if (view !== "compare" || focus === id || !cursor || !lanes.includes(id) || !lanes.includes(focus))
    return null;
  const round = sessions[focus]?.rounds[cursor.round];
  const there = sessions[id];
  if (!round || !there?.rounds.length) return null;
  const last = there.rounds.at(-1);
  const at = Math.min(positionAt(round, cursor.pos), last.start + last.emitted - 1);
  return placeAt(there, at) ?? { round: 0, pos: -1 };
}

// Keeps the table's lines as new as the lanes: ended sessions are asked for once, running ones now and then.
export function lineKeeper(store, source) {
  let asked = new Map(); // id -> what it was when it was asked for
  let busy = false;
  let last = 0;
  const due = (session) => {
    const now = `${session.n} ${session.status}`;
    if (asked.get(session.id) === now) return false;
    return !isLive(session.status) || performance.now() - last > AGAIN_MS;
  };
  return async () => {
    if (busy || !source.compared) return;
    const { lanes, sessions } = store.get();
    const there = lanes
      .filter(isSession)
      .map((id) => sessions[id])
      .filter((session) => session?.head);
    const wanted = there.filter(due);
    if (wanted.length === 0) return;
    busy = true;
    last = performance.now();
    wanted.forEach((session) => asked.set(session.id, `${session.n} ${session.status}`));
    try {
      const { columns, lines } = await source.compared(wanted.map(({ id }) => id));
      const fresh = Object.fromEntries(lines.map((line) => [line.session, line]));
      store.dispatch({ type: "set", values: { columns, lines: { ...store.get().lines, ...fresh } } });
    } catch (error) {
      store.dispatch({ type: "error", error: { message: error.message, hint: error.hint ?? "" } });
    } finally {
      busy = false;
    }
  };
}
