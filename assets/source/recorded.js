// A source that is a file: { sessions: [row], heads: {id: head}, rounds: {id: [round]}, pieces: {id: {}}, first },
// and of re-judged lanes, whose rounds and pieces stand by their ids, { judged: {id: answer} }. It never changes, so
// there is nothing to follow, stop or re-run. `first` is what is on view until a link says otherwise, as link.js
// reads it.

import { judgedId, judgedOf } from "../compare/lane.js";

export function recordedSource(recording) {
  const answer = (value) => Promise.resolve(value);
  return {
    first: recording.first,
    subscribe: () => () => {},
    follow: () => {},
    head: (id) => answer(recording.heads[id]),
    rounds: (id, lo, hi) =>
      answer({ rounds: recording.rounds[id].slice(lo, hi), pieces: recording.pieces[id] }),
    sessions: ({ search }) => {
      const found = recording.sessions.filter((row) =>
        row.title.toLowerCase().includes(search.toLowerCase()),
      );
      return answer({
        sessions: found,
        total: found.length,
        all: recording.sessions.length,
        bytes: null,
        facets: {},
      });
    },
    // One line a lane; a recording without a table says nothing of its lanes.
    compared: (ids) => {
      const { columns = [], lines = [] } = recording.compared ?? {};
      return answer({ columns, lines: lines.filter(({ session }) => ids.includes(session)) });
    },
    rejudged: recording.judged && ((session, [lane]) => rejudged(recording, session, lane)),
    choices: () => answer({ rules: recording.rules ?? [] }),
    stats: recording.stats && ((id) => answer(recording.stats[id])),
  };
}

// The answer about a re-judged lane that came along, however its numbers are written.
async function rejudged({ judged, rounds, pieces }, session, { rule, params }) {
  const wanted = judgedId(session, rule, params);
  const same = (id) => {
    const lane = judgedOf(id);
    return lane && judgedId(lane.session, lane.rule, lane.params) === wanted;
  };
  const id = Object.keys(judged).find(same);
  if (!id) throw new Error(`This page holds no re-judged lane ${wanted}.`);
  return { lanes: [{ ...judged[id], rounds: rounds[id] }], pieces: pieces[id] };
}
