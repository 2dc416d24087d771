// The run over its rounds, with the controls that walk through it.

import { askLine } from "./ask_line.js";
import { button, el, icon, replace, setText, tableHead } from "../parts/dom.js";
import { pitch, rail, slots } from "./rail.js";
import { summary } from "../inspect/round_panel.js";
import { roundAt } from "../source/rounds.js";
import { stageName, stagesOf } from "../inspect/stages.js";
import { isLive } from "../source/store.js";

const SPEEDS = [0.5, 1, 2, 4, 8];

export function timeline(store, actions, marks) {
  const canvas = el("canvas", {
    class: "ds-timeline-canvas",
    tabindex: "0",
    role: "slider",
    "aria-label": "Round",
    "aria-valuemin": "0",
  });
  const marker = el("i", { class: "ds-railnow", hidden: true });
  const press = (command) => () => actions.run(command);
  const control = (name, label, command, key) =>
    button(icon(name), {
      class: "ds-button is-icon",
      "aria-label": label,
      title: `${label} (${key})`,
      onclick: press(command),
    });
  const play = control("play", "Play", "play", "space");
  const toggle = (text, command, title) =>
    button(text, { class: "ds-button", title, onclick: press(command) });
  const follow = toggle("Follow", "follow", "Follow the newest round (f)");
  const slow = toggle(
    "Slow motion",
    "stages",
    "Show a round stage by stage: draft, target pass, test, what follows",
  );
  const table = toggle("Table", "tables", "Charts as tables (t)");
  const stage = el("span", { class: "ds-stage" });
  const pair = (name, what, [back, backKey], [on, onKey]) =>
    el(
      "span",
      { class: "ds-pair", role: "group", "aria-label": what },
      button("‹", {
        "aria-label": `Previous ${what}`,
        title: `Previous ${what} (${backKey})`,
        onclick: press(back),
      }),
      el("span", {}, name),
      button("›", { "aria-label": `Next ${what}`, title: `Next ${what} (${onKey})`, onclick: press(on) }),
    );
  const stages = pair("stage", "stage", ["stageBack", ","], ["stageOn", "."]);
  const lanes = pair("divergence", "divergence", ["divergenceBack", "Shift d"], ["divergenceOn", "d"]);
  const speed = el(
    "select",
    { class: "ds-select", "aria-label": "Speed of playing" },
    SPEEDS.map((factor) => el("option", { value: factor }, `${factor}×`)),
  );
  speed.addEventListener("change", () =>
    store.dispatch({ type: "set", values: { speed: Number(speed.value) } }),
  );
  const where = el("output", { class: "ds-where" });
  const notice = el("span", { class: "ds-notice", role: "status" });
  const twin = el("div", {
    class: "ds-roundtable",
    tabindex: "0",
    role: "region",
    "aria-label": "Rounds as a table",
  });
  const ask = askLine(store, actions, marks);
  const root = el(
    "section",
    { class: "ds-panel ds-timeline", "aria-label": "Timeline" },
    el(
      "div",
      { class: "ds-controls" },
      control("first", "First round", "first", "Home"),
      control("back", "Previous round", "roundBack", "Shift ←"),
      pair("step", "step", ["stepBack", "←"], ["stepOn", "→"]),
      play,
      speed,
      control("on", "Next round", "roundOn", "Shift →"),
      control("last", "Last round", "last", "End"),
      follow,
      el("span", { class: "ds-sep" }),
      pair("rejection", "rejection", ["rejectionBack", "p"], ["rejectionOn", "n"]),
      pair("bonus", "bonus", ["bonusBack", "Shift b"], ["bonusOn", "b"]),
      pair("break", "breakpoint", ["breakBack", "["], ["breakOn", "]"]),
      lanes,
      el("span", { class: "ds-sep" }),
      slow,
      stages,
      stage,
      el("span", { class: "ds-spring" }),
      notice,
      toggle("Go to", "go", "Go to a position or a round (g)"),
      toggle("Find", "find", "Find text or a /regex/ (/)"),
      table,
      where,
    ),
    ask.root,
    el("div", { class: "ds-rail" }, canvas, marker),
    twin,
  );
  const jump = (event) => {
    const session = store.get().sessions[store.get().focus];
    const n = session?.n ?? 0;
    if (!n) return;
    const box = canvas.getBoundingClientRect();
    const step = pitch(box.width, slots(box.width, n, isLive(session.status)));
    actions.goRound(Math.min(n - 1, Math.max(0, Math.floor((event.clientX - box.left) / step))));
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    jump(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) jump(event);
  });
  canvas.addEventListener("keydown", (event) => {
    const command = { ArrowLeft: "roundBack", ArrowRight: "roundOn", Home: "first", End: "last" }[event.key];
    if (!command) return;
    event.preventDefault();
    event.stopPropagation();
    actions.run(command);
  });
  const picture = rail(canvas, marker);
  let drawn = [];
  return {
    root,
    render(state) {
      const session = state.sessions[state.focus];
      const n = session?.rounds.length ?? 0;
      root.hidden = n === 0;
      if (n === 0) return;
      ask.render(state);
      setText(notice, state.notice);
      const places = {
        breaks: marks.breaks(state),
        divergences: marks.divergences(state),
        found: marks.found(state).places,
      };
      const { rounds, status } = session;
      const look = [state.find, state.breaks, state.choices];
      picture({ rounds, n: session.n, growing: isLive(status), places, look }, state.cursor?.round ?? null);
      const key = [
        session,
        state.cursor,
        state.follow,
        state.playing,
        state.stage,
        state.speed,
        state.tables,
      ];
      if (key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      const round = state.cursor ? roundAt(session, state.cursor.round) : null;
      controls(state, session, round);
      twin.hidden = !state.tables;
      if (state.tables) replace(twin, roundTable(store, session, round?.i ?? n - 1));
    },
  };

  function controls(state, session, round) {
    const { n } = session;
    replace(play, icon(state.playing ? "pause" : "play"));
    play.setAttribute("aria-label", state.playing ? "Pause" : "Play");
    follow.setAttribute("aria-pressed", String(state.follow));
    slow.setAttribute("aria-pressed", String(state.stage !== null));
    table.setAttribute("aria-pressed", String(state.tables));
    stages.hidden = stage.hidden = state.stage === null;
    lanes.hidden = state.lanes.length < 2;
    speed.value = String(state.speed);
    setText(where, round ? `round ${round.i} of ${n - 1}` : `${n} rounds`);
    const all = state.stage === null || !round ? [] : stagesOf(round);
    setText(stage, all.length ? `${stageName(all[state.stage])} · ${state.stage + 1} of ${all.length}` : "");
    canvas.setAttribute("aria-valuemax", String(n - 1));
    canvas.setAttribute("aria-valuenow", String(round?.i ?? 0));
    canvas.setAttribute("aria-valuetext", round ? `round ${round.i}: ${summary(round)}` : "none");
  }
}

const AROUND = 40;
const HEADS = [
  "round",
  "from position",
  "drafted",
  "tested",
  "accepted",
  "emitted",
  "then",
  "draft ms",
  "target ms",
  "judge ms",
];

// The rounds around the current one, as a table.
function roundTable(store, session, current) {
  const lo = Math.max(0, current - AROUND);
  const shown = session.rounds.slice(lo, current + AROUND + 1);
  const cell = (value) => el("td", { class: "ds-number" }, value);
  return el(
    "table",
    { class: "ds-table" },
    el("caption", {}, `rounds ${lo} to ${lo + shown.length - 1} of ${session.rounds.length}`),
    tableHead(HEADS),
    el(
      "tbody",
      {},
      shown.map((round) =>
        el(
          "tr",
          {
            class: round.i === current ? "is-own" : null,
            onclick: () => store.dispatch({ type: "cursor", round: round.i, pos: -1 }),
          },
          el("th", { scope: "row" }, String(round.i)),
          [round.start, round.k, round.tested, round.accepted, round.emitted].map((n) => cell(String(n))),
          el("td", {}, round.source),
          round.times.map((ms) => cell(ms.toFixed(1))),
        ),
      ),
    ),
  );
}
