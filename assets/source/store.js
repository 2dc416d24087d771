// One state, pure reducers. A session's rounds and pieces are logs that only grow: the arrays are shared
// between states and `n` says how far the source has come; nothing else is ever changed in place. Rounds that
// came before those in front of them wait in `ahead`, and can be looked at there: see roundAt.

import { countMatrix } from "../inspect/matrix.js";
import { arrived, roundAt } from "./rounds.js";
import { FILTERS } from "./shelf.js";
import { stagesOf } from "../inspect/stages.js";

export const initial = {
  sessions: {}, // id -> { id, head, rounds, pieces, n, status, tally }
  focus: null, // the session on view
  cursor: null, // { round, pos }; pos is a draft's index, or k for the token that follows
  want: null, // a cursor asked for by a link, until its round has arrived
  follow: true,
  playing: false,
  view: "inspect",
  lanes: [], // session ids and re-judged lanes (compare/lane.js), baseline first
  against: null, // the lane that is held against the baseline; null: the one on view, or the first that parts
  onlyDiffs: false, // lanes without the stretches in which none differs
  lines: {}, // lane -> its line of the table
  columns: [], // the columns of the table
  list: null, // rows of the session list; null until the first answer
  filters: FILTERS, // what narrows the session list
  shown: 100, // rows of it at most
  listing: null, // { total, all, bytes, facets } of the list
  listFailed: false, // true: no list has come yet, and the last try failed
  sheet: null, // the session whose sheet is open
  toast: null, // { text, undo, seconds }
  warming: "", // how far the models are that load in the background
  stats: {}, // session id -> its statistics
  choices: null,
  error: null, // { message, hint }
  help: false,
  options: { log: false, bars: 8, drops: true, mode: "fate" },
  pane: "bars", // what stands under the round: bars, rules or laws
  stage: null, // the last sub-step of the round that is revealed; null: all of it
  suppose: null, // the selected coin as it was dragged; null: as it fell
  breaks: { on: ["rejection"], values: {}, all: false, pause: false },
  find: "", // text or /regex/ to be found
  asking: null, // "find" or "go": the line that waits for an answer
  pinned: null, // the token whose card stays: { round, pos }
  speed: 1,
  keys: true, // false: single keys do nothing
  tables: false, // charts as tables
  notice: "", // what a command had to say
  tour: null, // the number of the tour's card, from 1
  tourDone: {}, // card number -> true
  tourAnswer: null, // what was answered to the card's question
  tourOffered: false, // true once the offer was answered
  present: null, // the panel that has the window to itself (tour/present.js)
  fault: null, // the case of the gallery that is on view
  faultData: null, // the gallery's recordings; "loading" or "failed" before
  quizzing: false, // the gallery asks instead of showing
  quiz: null, // see tour/quiz.js
};

const emptySession = (id) => ({
  id,
  head: null,
  rounds: [],
  ahead: new Map(), // index -> round
  wide: new Map(), // index -> round with all its rows
  pieces: {},
  n: 0,
  status: "loading",
  tally: { rounds: 0, proposed: 0, tested: 0, accepted: 0, emitted: 0, rescued: 0, matrix: null },
});

export function count(tally, round) {
  return {
    rounds: tally.rounds + 1,
    proposed: tally.proposed + round.k,
    tested: tally.tested + round.tested,
    accepted: tally.accepted + round.accepted,
    emitted: tally.emitted + round.emitted,
    rescued: tally.rescued + round.positions.filter((position) => position.rescued).length,
    matrix: countMatrix(tally.matrix, round),
  };
}

const reducers = {
  // { s, n, status, lo, rounds, pieces, head }: what a source says of one session.
  delta(state, { type, ...update }) {
    const old = state.sessions[update.s] ?? emptySession(update.s);
    Object.assign(old.pieces, update.pieces);
    const fresh = arrived(old, update.rounds ?? []);
    const session = {
      ...old,
      n: Math.max(old.n, update.n ?? 0, old.rounds.length),
      status: update.status ?? old.status,
      head: update.head ?? old.head,
      tally: fresh.reduce(count, old.tally),
    };
    const next = { ...state, sessions: { ...state.sessions, [update.s]: session } };
    return update.s === state.focus ? settle(next, session) : next;
  },
  // A round with all its rows.
  wide(state, { s, round, pieces }) {
    const old = state.sessions[s];
    if (!old) return state;
    Object.assign(old.pieces, pieces);
    old.wide.set(round.i, { ...round, wide: true });
    return { ...state, sessions: { ...state.sessions, [s]: { ...old } } };
  },
  focus(state, { s, cursor = null, follow = cursor === null }) {
    const sessions = state.sessions[s] ? state.sessions : { ...state.sessions, [s]: emptySession(s) };
    const next = {
      ...state,
      ...untouched,
      sessions,
      focus: s,
      cursor: null,
      want: cursor,
      follow,
      playing: false,
    };
    return settle(next, sessions[s]);
  },
  // A round that has not come yet is waited for where the cursor stands.
  cursor(state, { round, pos, stage = null }) {
    const session = state.sessions[state.focus];
    if (session && round < session.n && round >= 0 && !roundAt(session, round))
      return { ...state, want: { round, pos, stage }, follow: false };
    const cursor = clamp(session, { round, pos });
    return cursor ? { ...state, ...untouched, cursor, stage, want: null, follow: false } : state;
  },
  // A coin held at another place: it stays while the cursor does.
  suppose: (state, { u }) => ({ ...state, suppose: u, follow: false }),
  // Plain fields that no other field depends on.
  set: (state, { values }) => ({ ...state, ...values }),
  look: (state, { look }) => ({
    ...state,
    ...look.values,
    options: { ...state.options, ...look.options },
    breaks: look.breaks,
  }),
  breaks: (state, { values }) => ({ ...state, breaks: { ...state.breaks, ...values } }),
  follow(state, { on }) {
    const next = { ...state, follow: on, playing: on ? false : state.playing };
    return on && state.focus !== null ? settle(next, state.sessions[state.focus]) : next;
  },
  play: (state, { on }) => ({ ...state, playing: on, follow: on ? false : state.follow }),
  view: (state, { name }) => ({ ...state, view: name }),
  lanes: (state, { ids }) => ({ ...state, lanes: [...new Set(ids)] }),
  list: (state, { rows }) => ({ ...state, list: rows }),
  choices: (state, { choices }) => ({ ...state, choices }),
  error: (state, { error }) => ({ ...state, error }),
  help: (state, { on }) => ({ ...state, help: on }),
  option: (state, { name, value }) => ({ ...state, options: { ...state.options, [name]: value } }),
};

export function reduce(state, action) {
  return reducers[action.type](state, action);
}

// What a move of the cursor takes back.
const untouched = { stage: null, suppose: null, notice: "" };

// Puts the cursor where it belongs after new data: at a link's place, at the newest round, or nowhere new.
function settle(state, session) {
  if (state.want && roundAt(session, state.want.round)) {
    const cursor = clamp(session, state.want);
    return {
      ...state,
      ...untouched,
      cursor,
      want: null,
      ...kept(roundAt(session, cursor.round), cursor, state.want),
    };
  }
  if (state.follow && session.rounds.length > 0) {
    const round = session.rounds.length - 1;
    return { ...state, ...untouched, cursor: { round, pos: interesting(session.rounds[round]) } };
  }
  return state;
}

// The sub-step and the held coin of a link, where they fit the round.
function kept(round, { pos }, { stage = null, suppose = null }) {
  const fits = stage !== null && stage < stagesOf(round).length;
  return { stage: fits ? stage : null, suppose: (round.positions[pos]?.u ?? null) === null ? null : suppose };
}

function clamp(session, cursor) {
  if (!session) return null;
  const last = session.rounds.length - 1;
  const round = roundAt(session, cursor.round) ? cursor.round : Math.min(Math.max(cursor.round, 0), last);
  const here = roundAt(session, round);
  if (!here) return null;
  return { round, pos: steps(here).includes(cursor.pos) ? cursor.pos : interesting(here) };
}

// Where to look first in a round: its rejection, else the token that follows, else its last draft.
export function interesting(round) {
  if (round.accepted < round.k) return round.accepted;
  return round.next ? round.k : round.k - 1;
}

// The positions of a round in order: its drafts, then k for the token that follows them.
export function steps(round) {
  const drafts = round.positions.map((_, i) => i);
  return round.next ? [...drafts, round.k] : drafts;
}

export function step(session, cursor, by) {
  const here = steps(roundAt(session, cursor.round));
  const i = here.indexOf(cursor.pos) + by;
  if (i >= 0 && i < here.length) return { round: cursor.round, pos: here[i] };
  const round = cursor.round + by;
  if (round < 0 || round >= session.n) return cursor;
  const next = roundAt(session, round);
  if (!next) return { round, pos: -1 };
  const there = steps(next);
  return { round, pos: there[by > 0 ? 0 : there.length - 1] };
}

export function stepRound(session, cursor, by) {
  const round = Math.min(Math.max(cursor.round + by, 0), session.n - 1);
  const there = roundAt(session, round);
  return { round, pos: there ? interesting(there) : -1 };
}

// The next rejected draft in a direction; the cursor itself when there is none.
export function stepRejection(session, cursor, by) {
  const rejects = (round) => round.accepted < round.k;
  let at = cursor.round;
  const here = roundAt(session, at);
  if (rejects(here) && Math.sign(here.accepted - cursor.pos) === by) return { round: at, pos: here.accepted };
  for (at += by; at >= 0 && at < session.n; at += by) {
    const there = roundAt(session, at);
    if (!there) return { round: at, pos: -1 };
    if (rejects(there)) return { round: at, pos: there.accepted };
  }
  return cursor;
}

// What is selected: the session, its round, the draft there (or null), the token that follows (or null).
export function selected(state) {
  const session = state.sessions[state.focus] ?? null;
  const round = state.cursor && session ? roundAt(session, state.cursor.round) : null;
  if (!round) return { session, round: null, position: null, next: null };
  const onNext = state.cursor.pos === round.k;
  return {
    session,
    round,
    position: onNext ? null : round.positions[state.cursor.pos],
    next: onNext ? round.next : null,
  };
}

// The lanes of a session: what it repeats or is repeated by, the original first; at most eight.
export function family(state, id) {
  const rows = state.list ?? [];
  const parent = rows.find((row) => row.id === id)?.parent_id ?? id;
  const children = rows
    .filter((row) => row.parent_id === parent)
    .map((row) => row.id)
    .sort((a, b) => a - b);
  return [parent, ...children.slice(-7)];
}

export const isLive = (status) => status === "running" || status === "queued" || status === "loading";

export function createStore(state = initial) {
  const listeners = new Set();
  return {
    get: () => state,
    dispatch(action) {
      state = reduce(state, action);
      listeners.forEach((listener) => listener(state, action));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
