// What a key or a button does to the cursor. run(name) returns false when there is nothing to do.

import { step, stepRejection, stepRound } from "./store.js";

const PLAY_MS = 700;

export function commands(store) {
  let timer = 0;
  const state = () => store.get();
  const session = () => state().sessions[state().focus] ?? null;
  const go = (move, ...rest) => {
    if (!state().cursor) return false;
    store.dispatch({ type: "cursor", ...move(session(), state().cursor, ...rest) });
    return true;
  };
  const last = () => (session()?.rounds.length ?? 0) - 1;
  const to = (round) => {
    if (round < 0) return false;
    store.dispatch({ type: "cursor", round, pos: -1 });
    return true;
  };
  const halt = () => {
    clearInterval(timer);
    timer = 0;
    store.dispatch({ type: "play", on: false });
  };
  const tick = () => {
    if (!state().playing || !state().cursor) return halt();
    const next = step(session(), state().cursor, 1);
    if (next === state().cursor) return halt();
    return store.dispatch({ type: "cursor", ...next });
  };
  const table = {
    stepBack: () => go(step, -1),
    stepOn: () => go(step, 1),
    roundBack: () => go(stepRound, -1),
    roundOn: () => go(stepRound, 1),
    rejectionBack: () => go(stepRejection, -1),
    rejectionOn: () => go(stepRejection, 1),
    first: () => to(last() < 0 ? -1 : 0),
    last: () => to(last()),
    follow() {
      store.dispatch({ type: "follow", on: !state().follow });
      return true;
    },
    play() {
      if (state().playing) return halt() ?? true;
      if (last() < 0) return false;
      const { cursor } = state();
      if (cursor && step(session(), cursor, 1) === cursor) to(0);
      store.dispatch({ type: "play", on: true });
      timer ||= setInterval(tick, PLAY_MS);
      return true;
    },
    help() {
      store.dispatch({ type: "help", on: !state().help });
      return true;
    },
    escape() {
      store.dispatch({ type: "error", error: null });
      store.dispatch({ type: "help", on: false });
      return true;
    },
  };
  return (name) => table[name]();
}
