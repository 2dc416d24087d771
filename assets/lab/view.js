// The Lab: what a student drags, throws and counts to see why it is exact. All of it is computed in this page; in the
// app the engine is asked whether it agrees.

import { el, setText } from "../parts/dom.js";
import { ceilingPanel } from "./ceiling_panel.js";
import { ladderPanel } from "./ladder_panel.js";
import { distances, lawOf } from "./law.js";
import { lawPanel } from "./law_panel.js";
import { manyPanel } from "./many_panel.js";
import { rowsPanel } from "./rows_panel.js";
import { FIRST, paramsOf } from "./state.js";
import { stepsPanel } from "./steps_panel.js";
import { ruleOf } from "./table.js";

// source: { check, temperatures } of the app, or of a static page, which cannot check.
export function labView(store, source = {}) {
  const lab = access(store, source);
  const panels = [rowsPanel, lawPanel, stepsPanel, manyPanel, ladderPanel, ceilingPanel].map((make) =>
    make(lab),
  );
  const mark = el("p", { class: "ds-lab-mark", hidden: true }, "faulty on purpose");
  const intro = el(
    "section",
    { class: "ds-panel ds-lab-intro", "aria-label": "The Lab" },
    el("h2", {}, "The Lab: see why it is exact"),
    el(
      "p",
      {},
      "A small drafter proposes words; a large target decides which stand. The target wants p, the drafter speaks q. Change both by hand, throw the darts yourself, then let thousands fall, and see whether the text still follows p.",
    ),
    mark,
  );
  const root = el(
    "section",
    { class: "ds-whole ds-lab", "aria-label": "Lab" },
    intro,
    panels.map((panel) => panel.root),
  );
  let asked = false;
  let led = null; // the panel a link last led to
  return {
    root,
    render(state) {
      root.hidden = state.view !== "lab";
      if (root.hidden) {
        led = null;
        return;
      }
      if (!asked) {
        asked = true;
        lab.load();
      }
      if (!lab.rules().length) return; // titles and parameters are the engine's: wait for them
      const faulty = Boolean(lab.meta()?.faulty);
      root.toggleAttribute("data-faulty", faulty);
      mark.hidden = !faulty;
      setText(mark, faulty ? `${lab.meta().title}: wrong on purpose, to be seen failing` : "");
      panels.forEach((panel) => panel.render(lab.get()));
      if (lab.get().panel !== led) {
        led = lab.get().panel;
        root.querySelector(`#ds-lab-${led}`)?.scrollIntoView({ block: "start" });
      }
    },
  };
}

// What the panels may know and change.
function access(store, source) {
  let measured = null;
  let memo = { key: "", value: null };
  const lab = {
    get: () => store.get().lab ?? FIRST,
    change: (next) => store.dispatch({ type: "set", values: { lab: next } }),
    rules: () => store.get().choices?.rules ?? NONE,
    meta: () => lab.rules().find(({ id }) => id === lab.get().rule) ?? null,
    rule: () => ruleOf(lab.get().rule, paramsOf(lab.meta() ?? undefined, lab.get().params)),
    temperatures: () => measured,
    check: source.check,
    law() {
      const { p, q, k, rule, params } = lab.get();
      const key = JSON.stringify([p, q, k, rule, params]);
      if (memo.key !== key) {
        const law = lawOf(lab.rule(), p, q, k);
        const acceptance = lab.rule().acceptance(p, q);
        memo = { key, value: { ...law, tv: distances(law, p), acceptance } };
      }
      return memo.value;
    },
    async load() {
      if (!source.temperatures) return;
      measured = await source.temperatures();
      store.dispatch({ type: "set", values: {} });
    },
  };
  return lab;
}

const NONE = [];
