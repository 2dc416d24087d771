// The Lab's state as parameters of a link: /?view=lab&p=0.3,0.5,0.2&q=0.6,0.3,0.1&rule=block&k=3. Nonsense is the
// first look. Pure.

import { RULE_IDS } from "./table.js";
import { DRAFTS, FEWEST, FIRST, MOST, quantised, RUNGS, SPARE } from "./state.js";

const NAMES = ["p", "q", "names", "k", "rule", "params", "seed", "step", "rung", "panel"];
const PANELS = ["rows", "law", "steps", "many", "ladder", "ceiling"];
// The greedy rule is argmax match, for one-hot rows alone.
const RULES = RULE_IDS.filter((id) => id !== "greedy-argmax");
const NAME_LENGTH = 12;
// A text's own seed is the seed and its number, and must stay a whole number that a double holds.
const MOST_SEED = 2 ** 52;

const whole = (text, most) => (/^\d{1,16}$/.test(text ?? "") && Number(text) <= most ? Number(text) : null);

function row(text) {
  const values = (text ?? "").split(",").map(Number);
  const fits =
    values.length >= FEWEST && values.length <= MOST && values.every((v) => v >= 0 && v < Infinity);
  return fits && values.some((value) => value > 0) ? quantised(values) : null;
}

// The state of a link, or null where it does not lead to the Lab.
export function readLab(search) {
  const query = new URLSearchParams(search);
  if (query.get("view") !== "lab") return null;
  const [p, q] = [row(query.get("p")), row(query.get("q"))];
  const rows = p && q && p.length === q.length ? { p, q } : { p: FIRST.p, q: FIRST.q };
  const [text, stage] = (query.get("step") ?? "").split(".").map((part) => whole(part, 1e6) ?? 0);
  const known = (list, name, first) => (list.includes(query.get(name)) ? query.get(name) : first);
  const k = whole(query.get("k"), 4);
  return {
    ...FIRST,
    ...rows,
    names: namesOf(query.get("names"), rows.p.length),
    k: DRAFTS.includes(k) ? k : FIRST.k,
    rule: known(RULES, "rule", FIRST.rule),
    params: paramsIn(query.get("params")),
    seed: whole(query.get("seed"), MOST_SEED) ?? FIRST.seed,
    text: text ?? 0,
    stage: stage ?? 0,
    rung: known(RUNGS, "rung", FIRST.rung),
    panel: known(PANELS, "panel", null),
  };
}

function namesOf(text, n) {
  const names = (text ?? "").split(",").map((name) => [...name].slice(0, NAME_LENGTH).join(""));
  return Array.from({ length: n }, (_, i) => names[i] || SPARE[i]);
}

const paramsIn = (text) =>
  Object.fromEntries(
    (text ?? "")
      .split(",")
      .map((part) => part.split(":"))
      .filter(
        ([name, value]) => /^[a-z][a-z_]{0,29}$/.test(name) && value !== "" && Number.isFinite(Number(value)),
      )
      .map(([name, value]) => [name, Number(value)]),
  );

// name -> text for a link, null for what needs no word there; all null outside of the Lab.
export function writeLab(lab) {
  if (!lab) return Object.fromEntries(NAMES.map((name) => [name, null]));
  const params = Object.entries(lab.params).map(([name, value]) => `${name}:${value}`);
  return {
    p: lab.p.join(","),
    q: lab.q.join(","),
    names: lab.names.map((name) => name.replaceAll(",", " ")).join(","),
    k: lab.k,
    rule: lab.rule,
    params: params.length ? params.join(",") : null,
    seed: lab.seed || null,
    step: lab.text || lab.stage ? `${lab.text}.${lab.stage}` : null,
    rung: lab.rung === FIRST.rung ? null : lab.rung,
    panel: lab.panel,
  };
}

// A link to the Lab in a state: labLink({ p, q, rule: "block", k: 3, panel: "many" }). What is left out is as at first.
export function labLink(state = {}) {
  const query = new URLSearchParams({ view: "lab" });
  const lab = { ...FIRST, ...state };
  if (!state.names) lab.names = namesOf("", lab.p.length);
  for (const [name, value] of Object.entries(writeLab(lab))) if (value !== null) query.set(name, value);
  return `?${query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":")}`;
}
