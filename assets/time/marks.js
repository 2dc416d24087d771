// The places of the session on view that deserve a mark: its breakpoints, where lanes part, what was found.
// Each list is kept until what it depends on changes; breakpoints look at new rounds alone.

import { firstDivergence, output } from "../compare/align.js";
import { breakPlaces } from "./breaks.js";
import { search } from "./find.js";

export function marks() {
  const places = breakPlaces();
  const parted = memo((state) => divergencesOf(state), laneKey);
  const found = memo(
    (state) => searched(state),
    (state) => [state.focus, state.find, focused(state)?.rounds.length],
  );
  const around = (state) => ({
    rules: state.choices?.rules ?? [],
    own: focused(state)?.head?.rule ?? null,
    divergences: parted(state),
  });
  return {
    around,
    divergences: parted,
    found,
    breaks: (state) => (focused(state)?.head ? places(focused(state), state.breaks, around(state)) : []),
  };
}

const focused = (state) => state.sessions[state.focus] ?? null;

function memo(work, keyOf) {
  let known = null;
  return (state) => {
    const key = JSON.stringify(keyOf(state));
    if (known?.key !== key) known = { key, value: work(state) };
    return known.value;
  };
}

const laneKey = (state) => [
  state.focus,
  state.lanes.map((id) => [id, state.sessions[id]?.rounds.length ?? 0]),
];

// Where the session leaves the baseline; for the baseline itself, where each other lane leaves it.
function divergencesOf(state) {
  const lanes = state.lanes.map((id) => state.sessions[id]).filter((session) => session?.rounds.length);
  const own = lanes.find((session) => session.id === state.focus);
  if (!own || lanes.length < 2) return [];
  const mine = output(own);
  const others = own === lanes[0] ? lanes.slice(1) : [lanes[0]];
  const at = others
    .map((lane) => firstDivergence(mine, output(lane)))
    .filter((position) => position !== null && mine[position].round !== null);
  return [...new Set(at)]
    .sort((a, b) => a - b)
    .map((position) => ({ round: mine[position].round, pos: mine[position].pos }));
}

const NOTHING = { places: [], covered: [], error: "" };

const searched = (state) => (focused(state) && state.find ? search(focused(state), state.find) : NOTHING);
