// The Lab's settings: rule, its parameters, k and the seed.

import { button, el, replace, setText } from "../parts/dom.js";
import { KINDS } from "./kinds.js";
import { DRAFTS, paramsOf } from "./state.js";

const fresh = { text: 0, stage: 0 };

export function settings(lab) {
  const rule = el("select", {
    class: "ds-select",
    "aria-label": "Rule",
    onchange: () => lab.change({ ...lab.get(), ...fresh, rule: rule.value, params: {} }),
  });
  const drafts = DRAFTS.map((k) =>
    button(String(k), {
      class: "ds-button is-small",
      "aria-label": k === 1 ? "1 draft a round" : `${k} drafts a round`,
      onclick: () => lab.change({ ...lab.get(), ...fresh, k }),
    }),
  );
  const seed = el("input", {
    class: "ds-input ds-lab-seed",
    type: "number",
    min: 0,
    step: 1,
    "aria-label": "Seed",
    onchange: () => {
      const value = Math.min(2 ** 52, Math.max(0, Math.round(Number(seed.value) || 0)));
      lab.change({ ...lab.get(), ...fresh, seed: value });
    },
  });
  const params = el("div", { class: "ds-lab-params" });
  const meaning = el("p", { class: "ds-lab-meaning" });
  const root = el(
    "div",
    { class: "ds-lab-settings" },
    el(
      "div",
      { class: "ds-lab-fields" },
      el("label", {}, el("span", {}, "Rule"), rule),
      el(
        "div",
        { class: "ds-lab-field", role: "group", "aria-label": "Drafts a round, k" },
        el("span", {}, "Drafts a round, k"),
        el("div", { class: "ds-lab-choice" }, drafts),
      ),
      el("label", {}, el("span", {}, "Seed"), seed),
      params,
    ),
    meaning,
  );
  let listed = null;
  let shownRule = null;
  return {
    root,
    render(state) {
      if (listed !== lab.rules()) {
        listed = lab.rules();
        replace(rule, options(listed));
      }
      const meta = lab.meta();
      rule.value = state.rule;
      drafts.forEach((one, i) => one.setAttribute("aria-pressed", String(DRAFTS[i] === state.k)));
      if (document.activeElement !== seed) seed.value = state.seed;
      setText(meaning, meta ? `${meta.meaning} ${meta.formula}` : "");
      if (shownRule !== meta) {
        shownRule = meta;
        replace(
          params,
          (meta?.parameters ?? []).map((one) => paramField(lab, one)),
        );
      }
      const values = paramsOf(meta, state.params);
      for (const input of params.querySelectorAll("input")) {
        if (document.activeElement !== input) input.value = values[input.name];
        setText(input.nextElementSibling, String(values[input.name]));
      }
    },
  };
}

function options(rules) {
  return KINDS.map(([label, fits]) =>
    el(
      "optgroup",
      { label },
      rules.filter(fits).map((rule) => el("option", { value: rule.id }, `${rule.title} (${rule.id})`)),
    ),
  );
}

// A wide parameter is narrowed to what can matter for eight tokens.
function paramField(lab, { name, default: usual, low, high, meaning, origin }) {
  const whole = Number.isInteger(usual);
  const most = whole ? Math.min(high, 10) : Math.min(high, 2);
  const input = el("input", {
    type: "range",
    name,
    min: low,
    max: most,
    step: whole ? 1 : 0.01,
    "aria-label": name,
    oninput: () => {
      const now = lab.get();
      lab.change({ ...now, ...fresh, params: { ...now.params, [name]: Number(input.value) } });
    },
  });
  const title = `${meaning} Usually ${usual} (${origin}).`;
  return el(
    "label",
    { title },
    el("span", {}, name),
    el("span", { class: "ds-lab-range" }, input, el("output", {})),
  );
}
