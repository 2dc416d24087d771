// The rule and what comes of it: the exact law of what it emits, held against p, and every rule's acceptance.

import { button, el, replace, setText } from "../dom.js";
import { decimal, percent } from "../format.js";
import { agreement } from "./agreement.js";
import { KINDS } from "./kinds.js";
import { distances, lawOf } from "./law.js";
import { settings } from "./settings.js";
import { at } from "./slide.js";
import { paramsOf } from "./state.js";
import { ruleOf } from "./table.js";

const ZERO = 1e-12;
const PAUSE_MS = 120;
export const distance = (tv) => (tv < ZERO ? "0" : decimal(tv));

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

// Every rule at its own parameters (the chosen one at those set here). Worked out once the reader pauses.
function acceptanceTable(lab) {
  const root = el("div", { class: "ds-lab-kinds" });
  let timer = 0;
  let drawn = "";
  return {
    root,
    render(state) {
      const key = JSON.stringify([state.p, state.q, state.k, state.rule, state.params, lab.rules().length]);
      if (key === drawn) return;
      drawn = key;
      clearTimeout(timer);
      const draw = () => replace(root, tableOf(lab, state));
      if (root.childElementCount) timer = setTimeout(draw, PAUSE_MS);
      else draw();
    },
  };
}

function tableOf(lab, state) {
  return KINDS.map(([title, fits]) => kindTable(lab, state, title, lab.rules().filter(fits)));
}

function kindTable(lab, { p, q, k, rule: chosen, params }, title, rules) {
  const heads = [
    ["kept", "how often a draft is kept, at one position"],
    [`of ${k}`, "how many drafts of a round are kept, on average"],
    ["TV", "total variation distance to p, of one token"],
    ["pairs", "total variation distance to p, of two tokens"],
  ];
  return el(
    "table",
    { class: "ds-table ds-lab-table" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, title),
        heads.map(([head, says]) => el("th", { scope: "col", title: says }, head)),
      ),
    ),
    el(
      "tbody",
      {},
      rules.map((meta) => {
        const rule = ruleOf(meta.id, paramsOf(meta, meta.id === chosen ? params : {}));
        const tv = distances(lawOf(rule, p, q, k), p);
        return ruleLine(lab, meta, chosen, [
          el(
            "td",
            { title: meta.closed_form },
            `${meta.looks_ahead ? "≥ " : ""}${percent(snapped(rule.acceptance(p, q)))}`,
          ),
          el("td", {}, snapped(rule.accepted(p, q, k)).toFixed(2)),
          el("td", {}, distance(tv.single)),
          el("td", {}, distance(tv.pair)),
        ]);
      }),
    ),
  );
}

function ruleLine(lab, meta, chosen, cells) {
  const name = button(meta.id, {
    class: "ds-lawname",
    title: `${meta.title}: ${meta.meaning}`,
    "aria-pressed": String(meta.id === chosen),
    "data-key": `lab-${meta.id}`,
    onclick: () => lab.change({ ...lab.get(), rule: meta.id, params: {}, text: 0, stage: 0 }),
  });
  const own = meta.id === chosen ? "is-own" : null;
  return el("tr", { class: own, "data-rule": meta.id }, el("th", { scope: "row" }, name), cells);
}

// A number that is whole but for rounding, as the whole number.
const snapped = (value) => (Math.abs(value - Math.round(value)) < ZERO ? Math.round(value) : value);
