// What a key or a button does. run(name) returns false when there is nothing to do.

import { placesIn } from "../time/breaks.js";
import { before, nearest, placeAt } from "../time/places.js";
import { roundAt } from "../source/rounds.js";
import { stagesOf, stepStage } from "../inspect/stages.js";
import { isLive, step, stepRejection, stepRound } from "../source/store.js";

const PLAY_MS = 700;

// actions: what reaches beyond the cursor (open, copyLink, copyJson, star); marks: the places to jump to.
export function commands(store, actions, marks) {
  const state = () => store.get();
  const session = () => state().sessions[state().focus] ?? null;
  const set = (values) => store.dispatch({ type: "set", values });
  const say = (notice) => set({ notice }) ?? true;
  const go = (move, ...rest) => {
    if (!state().cursor) return false;
    store.dispatch({ type: "cursor", ...move(session(), state().cursor, ...rest) });
    return true;
  };
  const jump = (places, by, what) => {
    if (!state().cursor) return false;
    const place = nearest(places, state().cursor, by);
    if (!place) return say(`No ${what} ${by > 0 ? "after" : "before"} this place.`);
    store.dispatch({ type: "cursor", ...place, jump: true });
    return true;
  };
  const slow = (by) => go(stepStage, state().stage, by);
  const stepping = (by) => (state().stage === null ? go(step, by) : slow(by));
  const last = () => (session()?.n ?? 0) - 1;
  const to = (round) => {
    if (round < 0) return false;
    store.dispatch({ type: "cursor", round, pos: -1 });
    return true;
  };
  const bonuses = () =>
    session()
      .rounds.filter((round) => round.next?.source === "bonus")
      .map((round) => ({ round: round.i, pos: round.k }));
  const player = play(store, marks, stepping);
  const divergence = (by) => {
    const places = state().cursor ? marks.divergences(state()) : [];
    if (places.length === 0 && state().cursor) return say("No divergence: lanes are opened under Compare.");
    return jump(places, by, "divergence");
  };
  const breakpoint = (by) => {
    if (state().breaks.on.length === 0) return say("No breakpoint is chosen: tick one under Break on.");
    return jump(marks.breaks(state()), by, "breakpoint");
  };
  const table = {
    stepBack: () => stepping(-1),
    stepOn: () => stepping(1),
    stageBack: () => slow(-1),
    stageOn: () => slow(1),
    stages() {
      if (!state().cursor) return false;
      const { round } = state().cursor;
      const stage = state().stage === null ? 0 : null;
      const pos = stage === null ? state().cursor.pos : stagesOf(roundAt(session(), round))[0].i;
      store.dispatch({ type: "cursor", round, pos, stage });
      return true;
    },
    roundBack: () => go(stepRound, -1),
    roundOn: () => go(stepRound, 1),
    rejectionBack: () => go(stepRejection, -1),
    rejectionOn: () => go(stepRejection, 1),
    breakBack: () => breakpoint(-1),
    breakOn: () => breakpoint(1),
    bonusBack: () => session() !== null && jump(bonuses(), -1, "bonus"),
    bonusOn: () => session() !== null && jump(bonuses(), 1, "bonus"),
    divergenceBack: () => divergence(-1),
    divergenceOn: () => divergence(1),
    foundBack: () => jump(marks.found(state()).places, -1, "match"),
    foundOn: () => jump(marks.found(state()).places, 1, "match"),
    first: () => to(last() < 0 ? -1 : 0),
    last: () => to(last()),
    follow() {
      store.dispatch({ type: "follow", on: !state().follow });
      return true;
    },
    play: player.toggle,
    go: () => (last() < 0 ? false : (set({ asking: "go", notice: "" }) ?? true)),
    find: () => (session() ? (set({ asking: "find", notice: "" }) ?? true) : false),
    tables: () => set({ tables: !state().tables }) ?? true,
    keys: () => set({ keys: !state().keys }) ?? true,
    link: () => (session() ? (actions.copyLink().then(say), true) : false),
    json: () => (state().cursor && actions.copyJson ? (actions.copyJson().then(say), true) : false),
    star: () => (session() && actions.star ? (actions.star(state().focus), true) : false),
    present: () => (actions.present(state().present ? null : "text"), true),
    help() {
      store.dispatch({ type: "help", on: !state().help });
      return true;
    },
    escape() {
      const open = state();
      if (open.error) store.dispatch({ type: "error", error: null });
      else if (open.asking) set({ asking: null });
      else if (open.suppose !== null) store.dispatch({ type: "suppose", u: null });
      else if (open.pinned) set({ pinned: null });
      else set({ notice: "" });
      store.dispatch({ type: "help", on: false });
      return true;
    },
  };
  for (let n = 1; n <= 9; n += 1) {
    table[`lane${n}`] = () => {
      const id = state().view === "compare" ? state().lanes[n - 1] : undefined;
      if (id === undefined) return false;
      actions.open(id);
      return true;
    };
  }
  return (name) => table[name]();
}

// Walks on by itself, at the chosen speed; a live session is waited for at its end. With "pause" among the
// breakpoints, playing and following stop at the first place that meets them.
function play(store, marks, stepping) {
  let timer = 0;
  const state = () => store.get();
  const session = () => state().sessions[state().focus] ?? null;
  const halt = (notice = "") => {
    clearTimeout(timer);
    timer = 0;
    store.dispatch({ type: "play", on: false });
    store.dispatch({ type: "set", values: { notice } });
  };
  const later = () => {
    timer = setTimeout(tick, PLAY_MS / state().speed);
  };
  const stopsHere = () =>
    state().breaks.pause && marks.breaks(state()).some((place) => same(place, state().cursor));
  function tick() {
    if (!state().playing || !state().cursor) return halt();
    const here = `${state().cursor.round} ${state().cursor.pos} ${state().stage}`;
    stepping(1);
    const moved = here !== `${state().cursor.round} ${state().cursor.pos} ${state().stage}`;
    if (!moved && !isLive(session().status)) return halt();
    if (moved && stopsHere()) return halt("Paused at a breakpoint.");
    return later();
  }
  store.subscribe((now, action) => {
    if (!now.playing && timer) {
      clearTimeout(timer);
      timer = 0;
    }
    if (action.type !== "delta" || action.s !== now.focus || !now.follow || !now.breaks.pause) return;
    const fresh = (action.rounds ?? []).filter(
      (round) => round.i >= (action.lo ?? 0) && isLive(now.sessions[now.focus].status),
    );
    const around = { ...marks.around(now), pieces: now.sessions[now.focus].pieces };
    const place = fresh.flatMap((round) => placesIn(now.breaks, round, around))[0];
    if (!place) return;
    store.dispatch({ type: "cursor", ...place });
    store.dispatch({ type: "set", values: { notice: "Paused at a breakpoint; the run goes on." } });
  });
  return {
    toggle() {
      if (state().playing) return halt() ?? true;
      if (!session()?.rounds.length) return false;
      const { cursor } = state();
      if (cursor && !isLive(session().status) && step(session(), cursor, 1) === cursor) {
        store.dispatch({ type: "cursor", round: 0, pos: 0, stage: state().stage === null ? null : 0 });
      }
      store.dispatch({ type: "play", on: true });
      if (!timer) later();
      return true;
    },
  };
}

const same = (a, b) => !before(a, b) && !before(b, a);

// The place that an answer to "go to" names: 37 is an output position, r12 a round, r12.3 a draft in it.
export function target(session, text) {
  const round = /^\s*r\s*(\d+)(?:\s*[.:]\s*(\d+))?\s*$/i.exec(text);
  if (round) {
    const index = Number(round[1]);
    return index < session.n ? { round: index, pos: round[2] === undefined ? -1 : Number(round[2]) } : null;
  }
  return /^\s*\d+\s*$/.test(text) ? placeAt(session, Number(text)) : null;
}
