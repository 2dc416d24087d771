// Every rule beside the others: how often it keeps a draft, how many of a round's on average, and how far it is from p.
// Worked out once the reader pauses, a rule at a time between frames, so that nothing waits for it.

import { button, el, replace, tableHead } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { KINDS } from "./kinds.js";
import { distances, lawOf } from "./law.js";
import { paramsOf } from "./state.js";
import { ruleOf } from "./table.js";

const ZERO = 1e-12;
const PAUSE_MS = 120;
const SLICE_MS = 8;

const distance = (tv) => (tv < ZERO ? "0" : decimal(tv));

// The chosen rule stands with the parameters set here, the others with their usual ones.
export function acceptanceTable(lab) {
  const root = el("div", { class: "ds-lab-kinds" });
  let timer = 0;
  let drawn = "";

  function work(state, found, left) {
    const end = performance.now() + SLICE_MS;
    while (left.length && performance.now() < end) {
      const meta = left.pop();
      found.set(meta.id, numbersOf(meta, state));
    }
    if (left.length) timer = setTimeout(work, 0, state, found, left);
    else replace(root, tablesOf(lab, state, found));
  }

  return {
    root,
    render(state) {
      const key = JSON.stringify([state.p, state.q, state.k, state.rule, state.params, lab.rules().length]);
      if (key === drawn) return;
      drawn = key;
      clearTimeout(timer);
      const left = lab.rules().filter((meta) => !meta.greedy_only);
      timer = setTimeout(work, root.childElementCount ? PAUSE_MS : 0, state, new Map(), left);
    },
  };
}

function numbersOf(meta, { p, q, k, rule: chosen, params }) {
  const rule = ruleOf(meta.id, paramsOf(meta, meta.id === chosen ? params : {}));
  return {
    acceptance: rule.acceptance(p, q),
    accepted: rule.accepted(p, q, k),
    tv: distances(lawOf(rule, p, q, k), p),
  };
}

const tablesOf = (lab, state, found) =>
  KINDS.map(([title, fits]) => kindTable(lab, state, found, title, lab.rules().filter(fits)));

function kindTable(lab, { k, rule: chosen }, found, title, rules) {
  const heads = [
    ["kept", "how often a draft is kept, at one position"],
    [`of ${k}`, "how many drafts of a round are kept, on average"],
    ["TV", "total variation distance to p, of one token"],
    ["pairs", "total variation distance to p, of two tokens"],
  ];
  return el(
    "table",
    { class: "ds-table ds-lab-table" },
    tableHead([title, ...heads.map(([head, says]) => [head, { title: says }])]),
    el(
      "tbody",
      {},
      rules.map((meta) => {
        const { acceptance, accepted, tv } = found.get(meta.id);
        return ruleLine(lab, meta, chosen, [
          el(
            "td",
            { title: meta.closed_form },
            `${meta.looks_ahead ? "≥ " : ""}${percent(snapped(acceptance))}`,
          ),
          el("td", {}, snapped(accepted).toFixed(2)),
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
