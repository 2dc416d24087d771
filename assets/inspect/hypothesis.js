// What would have happened had the selected coin fallen elsewhere, as far as the round can tell. Pure.
// Everything is recomputed from p, q, thresholds and draws that are shown. A coin that was never tossed stays
// unknown and is said to be.

import { decimal } from "../parts/format.js";

// What is drawn from after a rejection: [name, weight of a listed token, mass from the whole rows or null].
const plus = (value) => Math.max(0, value);
const COVERED = ["(p − q)⁺", (p, q) => plus(p - q), (position) => position.tv];
const WITHOUT = ["p without the draft", (p, q, token, x) => (token === x ? 0 : p), ({ p }) => 1 - p];
const REFILLS = {
  stochastic: COVERED,
  ensemble: COVERED,
  cascade: COVERED,
  fly: COVERED,
  "fault-shared-coin": COVERED,
  "fault-softmax-q": COVERED,
  "fault-raw-q": COVERED,
  "one-hot": WITHOUT,
  threshold: WITHOUT,
  "fault-residual-from-p": ["p, where the residual would be right", (p) => p, () => 1],
  "fault-one-token-residual": [
    "p less q at the draft alone",
    (p, q, token, x) => (token === x ? plus(p - q) : p),
    ({ p, q }) => 1 - p + plus(p - q),
  ],
};

// Rules that put the target's own draw where a draft falls.
const OWN_DRAW = new Set(["synthetic", "fault-string-match"]);

function refillOf(rule, params) {
  if (rule !== "lenient") return REFILLS[rule] ?? null;
  const l = params?.leniency;
  return l ? [`(p/l − q)⁺, l = ${decimal(l)}`, (p, q) => plus(p / l - q), () => null] : null;
}

// The residual that a rejection here would draw from: { name, mass, top: [[token, prob]], rest } with
// probabilities that sum to 1; mass is null where the listed tokens alone do not tell it.
export function residualOf(position, rule, params) {
  const refill = refillOf(rule, params);
  if (!refill || position.q === null || position.p === null) return null;
  const [name, weight, whole] = refill;
  const listed = position.bars
    .map(([token, p, q]) => [token, p === null || q === null ? 0 : weight(p, q, token, position.x)])
    .filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const sum = listed.reduce((total, [, value]) => total + value, 0);
  const complete = position.rest[2] === 0 && position.rest[0] < 1e-6;
  const mass = whole(position) ?? (complete ? sum : null);
  if (mass === null) return null;
  if (mass <= 1e-12)
    return { name: "p (the residual is empty)", mass: 0, degenerate: true, top: [], rest: 0 };
  const of = Math.max(mass, sum);
  return {
    name,
    mass,
    degenerate: false,
    top: listed.map(([token, value]) => [token, value / of]),
    rest: plus(1 - sum / of),
  };
}

// Whether a coin can be held elsewhere here, and if not, why.
export function canSuppose(position, rule) {
  if (!position) return { can: false, why: "" };
  if (position.u !== null && position.accept_prob !== null) return { can: true, why: "" };
  if (position.accept_prob === null) return { can: false, why: "It was never tested, so no coin fell." };
  if (rule === "gumbel") {
    return {
      can: false,
      why: "No single coin decides: draft and target race with the same noise on every token.",
    };
  }
  if (rule === "sampler-match") {
    return { can: false, why: "No accept coin: the target's own draw decides. It is the dart below." };
  }
  return { can: false, why: "This rule tosses no coin here, so there is nothing to drag." };
}

// The round with the coin of draft `pos` at u: { passed, n, same, said, residual, next } — n is how many drafts
// would stand, null where coins that were never tossed decide; `said` is a sentence of strings and { token }.
export function suppose(round, pos, rule, u, params = {}) {
  const position = round.positions[pos];
  const passed = u < position.accept_prob;
  if (rule === "block") return supposeBlock(round, pos, u, passed);
  if (rule === "fault-shared-coin") return supposeShared(round, pos, u, passed);
  const same = passed === position.passed;
  if (same)
    return { passed, same, n: round.accepted, said: unchanged(passed), residual: null, next: round.next };
  if (passed) return { passed, same, ...supposeKept(round, pos) };
  return { passed, same, ...supposeDropped(round, pos, rule, params) };
}

const unchanged = (passed) => [
  passed
    ? "Still below the threshold: kept all the same."
    : "Still not below the threshold: rejected all the same.",
];

function supposeKept(round, pos) {
  const x = { token: round.positions[pos].x };
  const said = [x, " would stand. "];
  const behind = round.positions[pos + 1];
  if (!behind) {
    if (!round.beyond)
      return {
        n: round.k,
        said: [...said, "It is the last draft, and the output would end with it."],
        residual: null,
        next: null,
      };
    said.push(
      "It is the last draft, so the bonus would follow: the target's own draw there was ",
      { token: round.beyond.token },
      ".",
    );
    return { n: round.k, said, residual: null, next: round.beyond };
  }
  said.push("The next draft, ", { token: behind.x }, ", would be tested then");
  said.push(behind.q > 0 && behind.p !== null ? `, with p/q = ${decimal(behind.p / behind.q)}` : "");
  said.push("; its coin was never tossed, so how far the round would go is not known.");
  return { n: null, said, residual: null, next: null };
}

function supposeDropped(round, pos, rule, params) {
  const position = round.positions[pos];
  const x = { token: position.x };
  const lost = round.accepted - pos - 1;
  const said = [
    x,
    " would be rejected",
    lost > 0 ? `, and ${lost} that stood behind it dropped unread. ` : ". ",
  ];
  if (rule === "fly") {
    said.push(
      "FLy may forgive the miss if the target is unsure here and the next drafts all pass. If it does not, ",
    );
  }
  if (OWN_DRAW.has(rule)) {
    said.push("The target's own draw would take its place: ", { token: position.own.token }, ".");
    return { n: pos, said, residual: null, next: position.own };
  }
  const residual = residualOf(position, rule, params);
  if (!residual) {
    said.push("What would take its place cannot be told from the stored rows.");
    return { n: pos, said, residual: null, next: null };
  }
  said.push(`${rule === "fly" ? "a" : "A"} token would be drawn from ${residual.name}`);
  said.push(
    `, of mass Z = ${decimal(residual.mass)}; that coin was never tossed, so the bars below are all that is known.`,
  );
  return { n: rule === "fly" ? null : pos, said, residual, next: null };
}

// Every prefix has its test, so the largest one that passes is known whichever coin is moved.
function supposeBlock(round, pos, u, passed) {
  const passes = round.positions.map((one, i) => (i === pos ? passed : one.passed === true));
  const n = passes.lastIndexOf(true) + 1;
  const same = n === round.accepted;
  const test = `The prefix that ends here would ${passed ? "stand" : "not stand"} by itself. `;
  if (same)
    return {
      passed,
      same,
      n,
      said: [`${test}The longest prefix that stands is still ${n} of ${round.k}.`],
      residual: null,
      next: round.next,
    };
  const said = [`${test}The longest prefix that stands would be ${n} of ${round.k}. `];
  if (n < round.k) {
    said.push("What follows would be drawn from the residual (r p − q)⁺ there; that coin was never tossed.");
    return { passed, same, n, said, residual: null, next: null };
  }
  if (!round.beyond) return { passed, same, n, said, residual: null, next: null };
  said.push("The bonus would follow, the target's own draw: ", { token: round.beyond.token }, ".");
  return { passed, same, n, said, residual: null, next: round.beyond };
}

// One coin for every draft of the block: moving it moves them all.
function supposeShared(round, pos, u, passed) {
  const falls = ({ p, q }) => (p === null || q === null ? null : !(u * q < p));
  const verdicts = round.positions.map(falls);
  const stop = verdicts.findIndex((fell) => fell !== false);
  const n = stop < 0 ? round.k : verdicts[stop] === null ? null : stop;
  const same = n === round.accepted;
  const said = ["This rule throws one coin for the whole block: "];
  said.push(
    n === null
      ? "how many drafts would stand cannot be told from the stored rows."
      : `${n} of ${round.k} drafts would ${same ? "still " : ""}stand.`,
  );
  const next = same ? round.next : n === round.k ? round.beyond : null;
  return { passed, same, n, said, residual: null, next };
}

// Where the drafts of the round would stand under a supposition: a fate each, null where it is not known.
export function supposedFates(round, pos, outcome) {
  if (outcome.n === null) {
    return round.positions.map((one, i) =>
      i < pos ? one.fate : i === pos ? (outcome.passed ? "accepted" : "rejected") : null,
    );
  }
  return round.positions.map((_, i) =>
    i < outcome.n ? "accepted" : i === outcome.n ? "rejected" : "untested",
  );
}
