// Re-judged lanes as sessions that no store has: the head of the session whose drafts they are, the rule that
// judged, and rounds up to where it leaves their path.

import { judgedOf } from "./lane.js";

// load(id): asks the source for a re-judged lane, once; its rounds, head and line go into the store.
export function judgedLoader(store, source, guarded, head) {
  const asked = new Set();
  return (id) => {
    if (asked.has(id) || !source.rejudged) return null;
    asked.add(id);
    return guarded(async () => {
      const { session, rule, params } = judgedOf(id);
      const own = store.get().sessions[session]?.head ?? (await head(session));
      const { lanes, pieces } = await source.rejudged(session, [{ rule, params }]);
      take(store, id, own, lanes[0], pieces);
    }).finally(() => store.get().sessions[id]?.head || asked.delete(id));
  };
}

function take(store, id, own, lane, pieces) {
  const { line, rounds } = lane;
  const head = {
    ...own,
    id,
    rule: line.rule,
    params: line.params,
    asked: line.asked,
    reason: line.rule_reason,
    rule_title: lane.rule_title,
    status: line.status,
    end_reason: line.reason,
    judged: { of: own.id, why: line.reason, exact: line.exact, missing: line.missing_mass },
  };
  store.dispatch({
    type: "delta",
    s: id,
    n: rounds.length,
    status: line.status,
    lo: 0,
    rounds,
    pieces,
    head,
  });
  store.dispatch({ type: "set", values: { lines: { ...store.get().lines, [id]: line } } });
}
