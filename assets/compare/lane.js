// What a lane is. A session's id is a number; a re-judged lane, which is no session, is written as its
// session, "~", and what judged: 41~lenient:leniency=0.5. Pure.

const JUDGED = /^(-?\d+)~([a-z0-9][a-z0-9@-]*)((?::[a-z_]+=-?[0-9.e+-]+)*)$/;

export const isSession = (id) => typeof id === "number";
const isJudged = (id) => typeof id === "string";

// The id of a re-judged lane; parameters in the order of their names.
export function judgedId(session, rule, params = {}) {
  const said = Object.entries(params)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `:${name}=${value}`);
  return `${session}~${rule}${said.join("")}`;
}

// { session, rule, params } of a re-judged lane's id, or null.
export function judgedOf(id) {
  const found = isJudged(id) ? JUDGED.exec(id) : null;
  if (!found) return null;
  const pairs = found[3]
    .split(":")
    .filter(Boolean)
    .map((pair) => pair.split("="));
  if (pairs.some(([, value]) => !Number.isFinite(Number(value)))) return null;
  const params = Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
  return { session: Number(found[1]), rule: found[2], params };
}

// A lane of a link: a session's id, a re-judged lane, or null.
export function readLane(text) {
  if (/^-?\d+$/.test(text)) return Number(text);
  return judgedOf(text) ? text : null;
}

// What sets a lane apart: its rule with the parameters that are not at their defaults, then its drafter and
// k where they are not the baseline's.
export function laneName(head, baseline, rules = []) {
  const only = Object.keys(head.params ?? {}).length === 1;
  const changed = changedParams(head, rules).map(([name, value]) => (only ? value : `${name} ${value}`));
  const rule = [head.rule.replace(/@.*/, ""), ...changed].join(" ");
  if (!baseline) return rule;
  const others = [
    head.drafter === baseline.drafter ? null : head.drafter,
    head.k === baseline.k ? null : `k ${head.k}`,
    head.seed === baseline.seed ? null : `seed ${head.seed}`,
    head.target === baseline.target ? null : head.target,
    (head.fault ?? "") === (baseline.fault ?? "") ? null : `fault ${head.fault || "off"}`,
  ];
  return [rule, ...others.filter(Boolean)].join(", ");
}

function changedParams(head, rules) {
  const rule = rules.find(({ id }) => id === head.rule);
  const defaults = Object.fromEntries((rule?.parameters ?? []).map((param) => [param.name, param.default]));
  return Object.entries(head.params ?? {}).filter(([name, value]) => defaults[name] !== value);
}

// The list with the lane at `from` moved by some places; a re-judged lane is never the baseline.
export function moved(lanes, from, by) {
  const to = from + by;
  if (to < 0 || to >= lanes.length) return lanes;
  const out = lanes.filter((_, i) => i !== from);
  out.splice(to, 0, lanes[from]);
  return isSession(out[0]) ? out : lanes;
}

// The list without a lane; when the baseline goes, the next session takes its place.
export function without(lanes, id) {
  const out = lanes.filter((one) => one !== id);
  const first = out.findIndex(isSession);
  return first > 0 ? moved(out, first, -first) : out;
}

// The lane that the baseline is held against: the one asked for, else the one on view, else the first that
// parts, else the second; null with fewer than two.
export function chosenLane(lanes, { against, focus, parts }) {
  const others = lanes.slice(1);
  return [against, focus].find((id) => others.includes(id)) ?? others.find(parts) ?? others[0] ?? null;
}
