// Lanes to be added: rules with their parameters, over drafters and over k; or a session that is there.

import { button, el, replace, setText } from "../parts/dom.js";
import { count } from "../parts/format.js";
import { isGreedy } from "../inspect/matrix.js";
import { MOST } from "./actions.js";
import { isSession } from "./lane.js";

const FIRST = ["stochastic", "sampler-match", "block"];
const GROUPS = { lossless: "Lossless", biased: "Biased", faulty: "Faulty, to be seen failing" };
const kindOf = (rule) => (rule.lossless ? "lossless" : rule.faulty ? "faulty" : "biased");

export function chooser(store, actions) {
  const pick = el("div", { class: "ds-rulepick" });
  const drafters = el("input", {
    class: "ds-input",
    list: "ds-drafters",
    "aria-label": "Drafters, with commas between",
  });
  const offers = el("datalist", { id: "ds-drafters" });
  const ks = el("input", {
    class: "ds-input",
    inputmode: "numeric",
    "aria-label": "Values of k, with commas between",
  });
  const run = button("Re-run under these rules", { class: "ds-button is-primary" });
  const judge = button("Re-judge, no model", {
    title: "The stored drafts and coins under these rules; ends where a rule leaves the stored path",
  });
  const hint = el("span", { class: "ds-hint", role: "status" });
  const meaning = el("p", { class: "ds-hint ds-rulemeaning" }, "Point at a rule to read what it does.");
  const other = el("select", {
    class: "ds-select",
    "aria-label": "A session of this prompt to add as a lane",
  });
  const toggle = el("summary", {}, "Add lanes");
  const root = el(
    "details",
    { class: "ds-panel ds-chooser", open: true, "aria-label": "Rules to compare" },
    toggle,
    el(
      "p",
      { class: "ds-facts" },
      "Re-run: the models again, same seed, each lane on its own path. Re-judge: no model, the drafts that are stored.",
    ),
    pick,
    el(
      "div",
      { class: "ds-lanesettings" },
      el("label", {}, "Drafters ", drafters, offers),
      el("label", {}, "k ", ks),
      el("label", {}, "Or a session of this prompt ", other),
    ),
    el("div", { class: "ds-actions" }, run, judge, hint, meaning),
  );
  let picked = new Map(); // rule id -> its parameters
  let offered = "";
  let listed = "";
  let base = null;
  let there = [];

  const asked = () => lanesOf(picked, words(drafters.value), words(ks.value));

  function tell() {
    const n = asked().length;
    const room = MOST - there.length;
    const problem = problemOf(picked.size, n, room, ks.value);
    run.disabled = problem !== "";
    judge.disabled = picked.size < 1 || picked.size > room || drafters.value !== "" || ks.value !== "";
    setText(hint, problem || `${count(n, "lane")} beside the baseline`);
  }

  function choose(state) {
    const key = `${base.id} ${state.choices.rules.length}`;
    if (key === offered) return;
    offered = key;
    const greedy = isGreedy(base.head);
    const rules = state.choices.rules.filter((rule) => greedy || !rule.greedy_only);
    const first = rules.filter(({ id }) => id === base.head.rule || FIRST.includes(id));
    picked = new Map(first.map((rule) => [rule.id, valuesOf(rule, base.head)]));
    replace(
      pick,
      ruleGroups(rules, picked, base.head, tell, (rule) =>
        setText(meaning, `${rule.title}. ${rule.meaning}`),
      ),
    );
    drafters.placeholder = base.head.drafter;
    ks.placeholder = String(base.head.k);
    replace(
      offers,
      (state.choices.drafters ?? []).map((name) => el("option", { value: name })),
    );
  }

  function offer(state) {
    const rows = (state.list ?? []).filter(
      ({ id, prompt }) => prompt === base.head.prompt && !state.lanes.includes(id) && id !== base.id,
    );
    const key = rows.map(({ id, status }) => `${id} ${status}`).join();
    if (key === listed) return;
    listed = key;
    other.disabled = rows.length === 0;
    const blank = el("option", { value: "" }, rows.length ? "choose…" : "none in the list");
    replace(
      other,
      blank,
      rows.map((row) =>
        el(
          "option",
          { value: row.id },
          `#${row.id} ${row.rule}, ${row.drafter}, k ${row.k}, seed ${row.seed}`,
        ),
      ),
    );
  }

  drafters.addEventListener("input", tell);
  ks.addEventListener("input", tell);
  other.addEventListener("change", () => {
    if (other.value !== "") actions.compare.addSession(Number(other.value));
  });
  const begin = (work) => async () => {
    run.disabled = judge.disabled = true;
    setText(hint, "Starting…");
    await work(asked());
    tell();
  };
  run.addEventListener(
    "click",
    begin((lanes) => actions.compare.rerun(lanes)),
  );
  judge.addEventListener(
    "click",
    begin((lanes) => actions.compare.rejudge(lanes)),
  );

  return {
    root,
    render(state) {
      base = state.sessions[state.lanes.find(isSession) ?? state.focus] ?? null;
      root.hidden = !base?.head || !state.choices || !actions.canRerun;
      if (root.hidden) return;
      const grown = state.lanes.length > 1 && there.length < 2;
      there = state.lanes.length ? state.lanes : [base.id];
      if (grown) root.open = false;
      choose(state);
      offer(state);
      setText(toggle, there.length > 1 ? `Add lanes (${there.length} of ${MOST})` : "Compare rules");
      if (hint.textContent !== "Starting…") tell();
    },
  };
}

function problemOf(rules, n, room, ks) {
  if (rules < 1) return "Choose a rule.";
  if (words(ks).some((k) => !/^\d+$/.test(k)))
    return "k is one whole number or several, with commas between.";
  if (room < 1) return `${MOST} lanes are the most: take one away first.`;
  return n > room ? `${count(n, "lane")} were chosen, and there is room for ${room}.` : "";
}

const words = (text) => [
  ...new Set(
    text
      .split(",")
      .map((word) => word.trim())
      .filter(Boolean),
  ),
];

// Every rule with every drafter and every k that was named.
export function lanesOf(rules, drafters, ks) {
  const over = (values, name) => (values.length ? values.map((value) => ({ [name]: value })) : [{}]);
  return [...rules].flatMap(([rule, params]) =>
    over(drafters, "drafter").flatMap((drafter) =>
      over(ks.map(Number), "k").map((k) => ({ rule, params: { ...params }, ...drafter, ...k })),
    ),
  );
}

function valuesOf(rule, head) {
  const own = rule.id === head.rule ? head.params : {};
  return Object.fromEntries(
    (rule.parameters ?? []).map((param) => [param.name, own?.[param.name] ?? param.default]),
  );
}

function ruleGroups(rules, picked, head, changed, explain) {
  return Object.entries(GROUPS).map(([kind, title]) =>
    el(
      "div",
      { class: "ds-rulegroup", role: "group", "aria-label": title },
      el("span", {}, title),
      el(
        "div",
        {},
        rules
          .filter((rule) => kindOf(rule) === kind)
          .map((rule) => ruleBox(rule, picked, head, changed, explain)),
      ),
    ),
  );
}

function ruleBox(rule, picked, head, changed, explain) {
  const box = el("input", { type: "checkbox", value: rule.id, checked: picked.has(rule.id) });
  const values = valuesOf(rule, head);
  const fields = el(
    "span",
    { class: "ds-ruleparams", hidden: !picked.has(rule.id) },
    (rule.parameters ?? []).map((param) => paramField(rule, param, values, changed)),
  );
  box.addEventListener("change", () => {
    if (box.checked) picked.set(rule.id, values);
    else picked.delete(rule.id);
    fields.hidden = !box.checked;
    changed();
  });
  const say = () => explain(rule);
  const label = el("label", { title: rule.meaning }, box, rule.title.replace(/^Fault: /, ""));
  return el(
    "span",
    { class: "ds-rulechoice", onpointerenter: say, onfocusin: say },
    label,
    (rule.parameters ?? []).length ? fields : null,
  );
}

// As in the form above the screen: named, bounded, explained. What is out of bounds keeps the last value.
function paramField(rule, param, values, changed) {
  const whole = Number.isInteger(param.default) && param.high > 1;
  const field = el("input", {
    type: "number",
    class: "ds-input",
    min: param.low,
    max: param.high,
    step: whole ? 1 : "any",
    value: values[param.name],
    "aria-label": `${rule.title}: ${param.name}`,
    title: `${param.meaning} ${param.low} to ${param.high}; ${param.default}: ${param.origin}.`,
  });
  field.addEventListener("input", () => {
    const value = field.valueAsNumber;
    const fits = Number.isFinite(value) && value >= param.low && value <= param.high && field.validity.valid;
    field.toggleAttribute("aria-invalid", !fits);
    if (fits) values[param.name] = value;
    changed();
  });
  return el("label", { class: "ds-ruleparam" }, `${param.name} `, field);
}
