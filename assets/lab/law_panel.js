// The rule and what comes of it: the exact law of what it emits, held against p, and every rule's acceptance.

import { el, replace, setText } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { acceptanceTable } from "./acceptance_table.js";
import { agreement } from "./agreement.js";
import { settings } from "./settings.js";
import { at } from "./slide.js";

const ZERO = 1e-12;

export function lawPanel(lab) {
  const settingsBar = settings(lab);
  const bars = el("div", { class: "ds-lab-laws" });
  const verdict = el("p", { class: "ds-lab-verdict", role: "status" });
  const engine = agreement(lab);
  const table = acceptanceTable(lab);
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel is-marked", id: "ds-lab-law", "aria-label": "Rule and law" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "The rule, and what it makes of them"),
      el("p", { class: "ds-facts" }, "computed over every draft and every coin, not sampled"),
    ),
    settingsBar.root,
    el(
      "div",
      { class: "ds-lab-lawgrid" },
      el("div", {}, el("h3", {}, "What is emitted, against p"), bars),
      el("div", {}, verdict, engine.root),
    ),
    el(
      "div",
      {},
      el("h3", {}, "How often each rule keeps a draft, and what that costs"),
      el(
        "div",
        { class: "ds-lab-scroll", tabindex: 0, role: "region", "aria-label": "All rules" },
        table.root,
      ),
    ),
  );
  return {
    root,
    render(state) {
      settingsBar.render(state);
      const law = lab.law();
      drawLaw(bars, state, law.singles);
      setText(verdict, sentence(law.tv, lab.meta()));
      verdict.classList.toggle("is-off", law.tv.pair >= ZERO);
      engine.render(state, law);
      table.render(state);
    },
  };
}

function drawLaw(bars, { names, p }, singles) {
  const top = Math.max(...p, ...singles);
  replace(
    bars,
    names.map((name, i) => {
      const [o, want] = [singles[i], p[i]];
      const off = Math.abs(o - want) > ZERO;
      return el(
        "div",
        { class: "ds-lab-lawrow" },
        el("span", { class: "ds-lab-token" }, name),
        el(
          "div",
          { class: "ds-lab-bar is-flat" },
          el("i", { class: "ds-lab-fill ds-shared", style: { width: at(Math.min(o, want) / top) } }),
          off
            ? el("i", {
                class: `ds-lab-fill ${o > want ? "ds-only-q" : "ds-only-p"}`,
                style: { left: at(Math.min(o, want) / top), width: at(Math.abs(o - want) / top) },
              })
            : null,
          el("i", { class: "ds-lab-want", style: { left: at(want / top) } }),
        ),
        el("span", { class: "ds-number" }, percent(o)),
        el("span", { class: "ds-number is-q" }, off ? `p ${percent(want)}` : "= p"),
      );
    }),
  );
}

function sentence({ single, pair }, meta) {
  if (pair < ZERO)
    return "Exactly p, for single tokens and for pairs: TV 0. The drafter changes the speed, not the text.";
  if (single < ZERO)
    return `Single tokens follow p exactly, but pairs are off by TV ${decimal(pair)}: a test of single tokens would see nothing.`;
  const kind = meta?.faulty ? "This fault" : "This rule";
  return `${kind} emits something else than p: off by TV ${decimal(single)} for one token, ${decimal(pair)} for two.`;
}
