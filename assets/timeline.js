// The run over its rounds: a bar a round, filled as far as drafts were accepted, a mark where one was
// rejected. One canvas, so that thousands of rounds cost one paint.

import { button, el, icon, replace, setText } from "./dom.js";
import { summary } from "./round_panel.js";

const WIDEST = 52;

export function timeline(store, actions) {
  const canvas = el("canvas", {
    class: "ds-timeline-canvas",
    tabindex: "0",
    role: "slider",
    "aria-label": "Round",
    "aria-valuemin": "0",
  });
  const control = (name, label, run, key) =>
    button(icon(name), {
      class: "ds-button is-icon",
      "aria-label": label,
      title: `${label} (${key})`,
      onclick: run,
    });
  const play = control("play", "Play", () => actions.run("play"), "space");
  const follow = button("Follow", {
    class: "ds-button is-follow",
    title: "Follow the newest round (f)",
    onclick: () => actions.run("follow"),
  });
  const where = el("output", { class: "ds-where" });
  const root = el(
    "section",
    { class: "ds-panel ds-timeline", "aria-label": "Timeline" },
    el(
      "div",
      { class: "ds-controls" },
      control("first", "First round", () => actions.run("first"), "Home"),
      control("back", "Previous round", () => actions.run("roundBack"), "Shift ←"),
      play,
      control("on", "Next round", () => actions.run("roundOn"), "Shift →"),
      control("last", "Last round", () => actions.run("last"), "End"),
      el("span", { class: "ds-sep" }),
      button("‹ rejection", { title: "Previous rejection (p)", onclick: () => actions.run("rejectionBack") }),
      button("rejection ›", { title: "Next rejection (n)", onclick: () => actions.run("rejectionOn") }),
      el("span", { class: "ds-sep" }),
      follow,
      el("span", { class: "ds-spring" }),
      where,
    ),
    canvas,
  );
  const jump = (event) => {
    const session = store.get().sessions[store.get().focus];
    const n = session?.rounds.length ?? 0;
    if (!n) return;
    const box = canvas.getBoundingClientRect();
    actions.goRound(Math.floor((event.clientX - box.left) / pitch(box.width, n)));
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
  let drawn = [];
  return {
    root,
    render(state) {
      const session = state.sessions[state.focus];
      const dark = document.body.classList.contains("dark");
      const key = [session, state.cursor?.round, state.follow, state.playing, canvas.clientWidth, dark];
      if (key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      const n = session?.rounds.length ?? 0;
      root.hidden = n === 0;
      if (n === 0) return;
      const round = session.rounds[state.cursor?.round] ?? null;
      replace(play, icon(state.playing ? "pause" : "play"));
      play.setAttribute("aria-label", state.playing ? "Pause" : "Play");
      follow.setAttribute("aria-pressed", String(state.follow));
      setText(where, round ? `round ${round.i} of ${n - 1}` : `${n} rounds`);
      canvas.setAttribute("aria-valuemax", String(n - 1));
      canvas.setAttribute("aria-valuenow", String(round?.i ?? 0));
      canvas.setAttribute("aria-valuetext", round ? `round ${round.i}: ${summary(round)}` : "none");
      paint(canvas, session.rounds, round?.i ?? null);
    },
  };
}

const pitch = (width, n) => Math.min(WIDEST, width / n);

function paint(canvas, rounds, current) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name).trim();
  const step = pitch(width, rounds.length);
  const gap = step > 4 ? 1.5 : step > 2 ? 0.5 : 0;
  const most = Math.max(1, ...rounds.map((round) => round.k));
  const unit = (height - 8) / most;
  rounds.forEach((round, i) => {
    const x = i * step;
    const bar = (from, to, name) => {
      pen.fillStyle = colour(name);
      pen.fillRect(x, height - to * unit, Math.max(0.7, step - gap), (to - from) * unit);
    };
    bar(0, round.k, "--track");
    bar(0, round.accepted, "--accepted");
    if (round.k === 0) {
      pen.fillStyle = colour("--bonus");
      pen.fillRect(x, height - 3, Math.max(0.7, step - gap), 3);
    } else if (round.accepted < round.k) {
      pen.fillStyle = colour("--rejected");
      pen.fillRect(x, height - round.accepted * unit - 3, Math.max(0.7, step - gap), 3);
    } else if (round.next?.source === "bonus") {
      pen.fillStyle = colour("--bonus");
      pen.fillRect(x, height - round.k * unit - 4, Math.max(0.7, step - gap), 2.5);
    }
  });
  if (current !== null) {
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(current * step - 1, 0.75, Math.max(3, step - gap + 2), height - 1.5);
  }
}
