// One round, one step at a time: the draft's dart on q, the coin's dart against the threshold, the dart that refills.
// Each can be predicted before it is shown, and dragged afterwards.

import { button, el, replace, setText } from "../parts/dom.js";
import { count } from "../parts/format.js";
import { nameOf } from "./coins.js";
import { coinParts, dartLine, tokenParts } from "./dart_line.js";
import { stepsOf } from "./steps.js";

export function stepsPanel(lab) {
  const score = { right: 0, of: 0 };
  const held = new Map(); // where darts were dragged to, by the coin's name
  const cards = new Map();
  const list = el("ol", { class: "ds-lab-steps" });
  const scoreLine = el("span", { class: "ds-lab-score", role: "status" });
  const outcome = el("p", { class: "ds-lab-outcome", role: "status" });
  const title = el("span", { class: "ds-facts" });
  const steps = () => stepsOf(lab, held);
  const move = (change) => lab.change({ ...lab.get(), ...change });
  const next = button("Show the next step", {
    class: "ds-button is-primary",
    onclick: () => move({ stage: Math.min(lab.get().stage + 1, steps().length) }),
  });
  const all = button("Show all", { onclick: () => move({ stage: steps().length }) });
  const other = button("Next text", {
    title: "Another seed: other coins",
    onclick: () => {
      held.clear();
      move({ text: lab.get().text + 1, stage: 0 });
    },
  });
  const again = button("From the start", {
    onclick: () => {
      held.clear();
      move({ stage: 0 });
    },
  });
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel is-marked", id: "ds-lab-steps", "aria-label": "One step at a time" },
    el("header", { class: "ds-head" }, el("h2", {}, "One round, one step at a time"), title, scoreLine),
    el(
      "p",
      { class: "ds-hint" },
      "Every dart lands anywhere from 0 to 1 with the same chance; the part it hits decides. Guess first, if you like. A dart that is shown can be dragged, and Esc puts it back.",
    ),
    list,
    outcome,
    el("div", { class: "ds-lab-tools" }, next, all, again, other),
  );
  const predict = (right) => {
    score.of += 1;
    score.right += Number(right);
    move({ stage: lab.get().stage + 1 });
  };
  const drag = (name, u) => {
    if (u === null) held.delete(name);
    else held.set(name, u);
    // The steps behind may have changed in number; those shown stay shown.
    move({ stage: Math.min(lab.get().stage, steps().length) });
  };
  let drawn = "";
  return {
    root,
    render(state) {
      const key = JSON.stringify([
        state.p,
        state.q,
        state.k,
        state.rule,
        state.params,
        state.seed,
        state.text,
      ]);
      if (key !== drawn) held.clear();
      drawn = key;
      const found = steps();
      const shown = found.slice(0, Math.min(state.stage + 1, found.length));
      setText(title, `text ${state.text}, under seed ${state.seed + state.text}`);
      setText(scoreLine, score.of ? `You guessed ${score.right} of ${score.of}.` : "");
      syncCards(list, cards, shown, { predict, drag });
      shown.forEach((step, i) => cards.get(step.key).show(step, i < state.stage, state.names, held));
      const done = state.stage >= found.length;
      next.disabled = all.disabled = done;
      setText(outcome, done ? outcomeText(found, state.names, held.size > 0) : "");
    },
  };
}

// One card a step, kept while its step stays, so that a drag never loses its handle.
function syncCards(list, cards, shown, handlers) {
  const keys = shown.map((step) => step.key);
  for (const key of cards.keys()) if (!keys.includes(key)) cards.delete(key);
  for (const step of shown) if (!cards.has(step.key)) cards.set(step.key, stepCard(step, handlers));
  const wanted = keys.map((key) => cards.get(key).root);
  const same = wanted.length === list.children.length && wanted.every((node, i) => list.children[i] === node);
  if (same) return;
  wanted.forEach((node, i) => list.children[i] !== node && list.insertBefore(node, list.children[i] ?? null));
  while (list.children.length > wanted.length) list.lastChild.remove();
}

function stepCard(first, { predict, drag }) {
  let now = first;
  const head = el("h3", {});
  const place = el("small", { class: "ds-lab-address" });
  const ask = el("div", { class: "ds-lab-ask", role: "group" });
  const said = el("p", { class: "ds-lab-said" });
  const line = dartLine(first.title, (u) => drag(nameOf(now.at), u));
  const root = el(
    "li",
    { class: "ds-lab-step" },
    el("div", { class: "ds-lab-stephead" }, head, place),
    line.root,
    ask,
    said,
  );
  let asked = "";
  return {
    root,
    show(step, revealed, names, held) {
      now = step;
      const parts = step.kind === "test" ? coinParts(step.threshold) : tokenParts(step.slices, names);
      const moved = step.at && held.has(nameOf(step.at)) ? held.get(nameOf(step.at)) : null;
      setText(head, step.title);
      setText(
        place,
        step.at
          ? `coin: ${step.at.purpose}, position ${step.at.position}, attempt ${step.at.attempt}`
          : "no coin",
      );
      line.root.hidden = step.fell === null && step.kind === "test" && !step.at;
      line.show({ parts, fell: revealed ? step.fell : null, held: revealed ? moved : null });
      root.classList.toggle("is-open", !revealed);
      root.dataset.kind = step.kind;
      root.dataset.fate = revealed ? step.fate : "";
      const choices = revealed ? [] : step.choices(names);
      const question = JSON.stringify(choices.map(([word]) => word));
      if (question !== asked) {
        asked = question;
        ask.setAttribute("aria-label", step.question);
        replace(
          ask,
          choices.length ? el("span", {}, step.question) : [],
          choices.map(([word, value]) =>
            button(word, { class: "ds-button is-small", onclick: () => predict(value === now.answer) }),
          ),
        );
      }
      setText(said, revealed ? `${step.says(names)}${moved === null ? "" : " (You moved this dart.)"}` : "");
    },
  };
}

function outcomeText(found, names, moved) {
  const { drafts, verdict, emitted } = found.round;
  const words = emitted.map((id) => names[id]).join(" ");
  const stood = `${count(verdict.n, "draft")} of ${drafts.length} stood`;
  const after = verdict.source === "bonus" ? "a bonus token followed" : "one token was refilled";
  return `${moved ? "With your darts: " : ""}${stood}, ${after}. The round emits: ${words}.`;
}
