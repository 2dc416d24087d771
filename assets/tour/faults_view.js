// The fault gallery: every known fault with what it does to the numbers, healthy beside faulty, and a quiz over
// the same numbers without their names. The recordings are fetched when the view is first opened.

import { button, el, replace, setText } from "../parts/dom.js";
import { diagnostics } from "./diagnostics.js";
import { answered, ask, FRESH, score } from "./quiz.js";

const KINDS = { engine: "In the engine", rule: "In the rule" };

export function faultsView(store, actions) {
  const set = (values) => store.dispatch({ type: "set", values });
  const tab = (quiz, text) =>
    button(text, { class: "ds-tab", onclick: () => (quiz ? startQuiz(store) : set({ quizzing: false })) });
  const tabs = el(
    "div",
    { class: "ds-tabs", role: "group", "aria-label": "Gallery or quiz" },
    tab(false, "Gallery"),
    tab(true, "Which fault is this?"),
  );
  const lead = el("p", { class: "ds-facts" });
  const list = el("div", { class: "ds-faultlist" });
  const body = el("div", { class: "ds-faultbody" });
  const root = el(
    "section",
    { class: "ds-whole ds-faults", "aria-label": "Faults" },
    el(
      "div",
      { class: "ds-panel" },
      el(
        "header",
        { class: "ds-head" },
        el("h2", {}, "Faults"),
        lead,
        el("span", { class: "ds-spring" }),
        tabs,
      ),
      list,
    ),
    body,
  );
  let drawn = null;

  async function load() {
    set({ faultData: "loading" });
    const found = await actions.guarded(() => actions.recording("faults.json"));
    set({ faultData: found ?? "failed" });
    if (found && store.get().quizzing) startQuiz(store);
  }

  return {
    root,
    render(state) {
      root.hidden = state.view !== "faults";
      if (root.hidden) return;
      if (state.faultData === null) load();
      const key = [state.faultData, state.fault, state.quizzing, state.quiz];
      if (drawn && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      [...tabs.children].forEach((child, i) =>
        child.setAttribute("aria-pressed", String(state.quizzing === (i === 1))),
      );
      const data = typeof state.faultData === "string" ? null : state.faultData;
      setText(lead, data ? leadText(data) : "");
      if (!data) {
        replace(list);
        replace(body, [waiting(state.faultData, load)]);
        return;
      }
      if (state.quizzing) {
        replace(list);
        replace(body, quizOf(store, data, state.quiz));
      } else {
        const chosen = data.cases.find((one) => one.id === state.fault) ?? data.cases[0];
        replace(list, choose(data.cases, chosen, set));
        replace(body, caseOf(data, chosen));
      }
      list.hidden = state.quizzing;
    },
  };
}

const leadText = ({ pair, sessions, samples }) => `recorded on ${pair}: ${sessions}; ${samples}`;

function waiting(data, again) {
  if (data !== "failed") return el("p", { class: "ds-empty", role: "status" }, "Fetching the recordings…");
  return el(
    "p",
    { class: "ds-empty" },
    "The recordings could not be read. ",
    button("Try again", { class: "ds-button is-small", onclick: again }),
  );
}

function choose(cases, chosen, set) {
  return Object.entries(KINDS).map(([kind, title]) =>
    el(
      "div",
      { class: "ds-faultgroup", role: "group", "aria-label": title },
      el("span", {}, title),
      cases
        .filter((one) => one.kind === kind)
        .map((one) =>
          button(one.title, {
            class: "ds-button is-small",
            "aria-pressed": String(one === chosen),
            "data-key": `fault-${one.id}`,
            onclick: () => set({ fault: one.id }),
          }),
        ),
    ),
  );
}

function words(one) {
  const line = (name, text) => [el("dt", {}, name), el("dd", {}, text)];
  return el(
    "dl",
    { class: "ds-faultwords" },
    line("What it does", one.does),
    line("What gives it away", one.gives_away),
    line("Where it was seen", one.seen),
  );
}

const mark = (one) =>
  el(
    "span",
    { class: "ds-watermark" },
    `faulty on purpose: ${one.kind === "rule" ? `rule “${one.title}”` : one.title}`,
  );

function caseOf(data, one) {
  return [
    el(
      "section",
      { class: "ds-panel ds-faultcase", "aria-label": one.title },
      el(
        "header",
        { class: "ds-head" },
        el("h3", {}, sentence(one.title)),
        mark(one),
        el("p", { class: "ds-facts" }, `${data.settings[one.group]} · ${one.id}`),
      ),
      words(one),
    ),
    el("div", { class: "ds-faultgrid" }, diagnostics(data.healthy[one.group], one.faulty, one.divergence)),
  ];
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// A new question, and the quiz in sight.
export function startQuiz(store) {
  const { faultData, quiz } = store.get();
  const ready = faultData && typeof faultData !== "string";
  const next = ready
    ? ask(
        quiz ?? FRESH,
        faultData.cases.map((one) => one.id),
      )
    : (quiz ?? FRESH);
  store.dispatch({ type: "set", values: { quizzing: true, quiz: next } });
}

function quizOf(store, data, quiz) {
  const one = data.cases.find((found) => found.id === quiz?.id);
  if (!one) return [];
  const reply = (id) => store.dispatch({ type: "set", values: { quiz: answered(store.get().quiz, id) } });
  const name = (id) => data.cases.find((found) => found.id === id).title;
  const open = quiz.answer === null;
  return [
    el(
      "section",
      { class: "ds-panel ds-faultcase", "aria-label": "Question" },
      el(
        "header",
        { class: "ds-head" },
        el("h3", {}, "Which fault is this?"),
        el("span", { class: "ds-watermark" }, "faulty on purpose"),
        el("p", { class: "ds-facts" }, score(quiz)),
      ),
      el(
        "div",
        { class: "ds-quizoptions", role: "group", "aria-label": "Answers" },
        quiz.options.map((id) =>
          button(sentence(name(id)), {
            class: `ds-button${open ? "" : id === quiz.id ? " is-right" : id === quiz.answer ? " is-wrong" : ""}`,
            disabled: !open,
            "data-key": `answer-${id}`,
            "data-answer": id,
            onclick: () => reply(id),
          }),
        ),
      ),
      el("div", { role: "status" }, open ? quizHint() : reveal(store, one, quiz, name)),
    ),
    el("div", { class: "ds-faultgrid" }, diagnostics(data.healthy[one.group], one.faulty, one.divergence)),
  ];
}

const quizHint = () =>
  el(
    "p",
    { class: "ds-hint" },
    "Look first at which test fails: first tokens, only pairs, the drafts, or none. Then at acceptance by depth and over the session.",
  );

function reveal(store, one, quiz, name) {
  const right = quiz.answer === quiz.id;
  return el(
    "div",
    { class: "ds-quizreveal" },
    el("p", {}, el("b", {}, right ? "Right: " : "No, it is: "), name(quiz.id), "."),
    words(one),
    button("Next question", { class: "ds-button is-primary is-small", onclick: () => startQuiz(store) }),
  );
}
