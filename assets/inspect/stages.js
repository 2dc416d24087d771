// A round in slow motion: its sub-steps in the order they happened. Pure.
// draft i -> target pass -> coin i -> what follows (residual, replacement, bonus or a plain target step).

import { roundAt } from "../source/rounds.js";

export function stagesOf(round) {
  const drafts = round.positions.map((_, i) => ({ kind: "draft", i }));
  const coins = round.positions.flatMap((position, i) =>
    position.accept_prob === null ? [] : [{ kind: "coin", i }],
  );
  const next = round.next ? [{ kind: followed(round), i: round.k }] : [];
  return [...drafts, { kind: "target", i: round.k === 0 ? round.k : 0 }, ...coins, ...next];
}

function followed(round) {
  if (round.k === 0) return "step";
  if (round.accepted === round.k) return "bonus";
  return round.next.residual ? "residual" : "replacement";
}

const WORDS = {
  draft: (i) => `draft ${i + 1}`,
  target: () => "target pass",
  coin: (i) => `test ${i + 1}`,
  residual: () => "residual",
  replacement: () => "replacement",
  bonus: () => "bonus",
  step: () => "target step",
};

export const stageName = ({ kind, i }) => WORDS[kind](i);

// What of a round may be seen at a stage; null sees all. `coins` counts tests, `drafts` drafted tokens.
export function revealed(round, stage) {
  if (stage === null || stage === undefined) {
    return { kind: null, drafts: round.k, target: true, coins: round.k, next: true, all: true };
  }
  const done = stagesOf(round).slice(0, stage + 1);
  const has = (kind) => done.filter((one) => one.kind === kind).length;
  const all = done.length === stagesOf(round).length;
  return {
    kind: done.at(-1).kind,
    drafts: has("draft"),
    target: has("target") > 0,
    coins: has("coin"),
    next: done.at(-1).i === round.k && done.at(-1).kind !== "target",
    all,
  };
}

// Whether the fate of draft i is known: its own test was made, or one before it failed. A rule that weighs the
// block knows none before its last test.
export function fateKnown(round, pos, seen, looksAhead = false) {
  if (seen.all || seen.next) return true;
  const coins = stagesOf(round).filter((one) => one.kind === "coin").length;
  if (looksAhead) return seen.coins === coins;
  return pos < seen.coins || (seen.coins > round.accepted && pos > round.accepted);
}

// One sub-step on or back from a cursor and stage: { round, pos, stage }. A screen that shows whole rounds
// enters this one at its first sub-step.
export function stepStage(session, cursor, stage, by) {
  let { round } = cursor;
  const stages = (i) => stagesOf(roundAt(session, i));
  let at = stage === null ? (by > 0 ? 0 : stages(round).length - 2) : stage + by;
  if (at < 0 && round > 0 && roundAt(session, round - 1)) {
    round -= 1;
    at = stages(round).length - 1;
  } else if (at >= stages(round).length && roundAt(session, round + 1)) {
    round += 1;
    at = 0;
  }
  const all = stages(round);
  at = Math.min(Math.max(at, 0), all.length - 1);
  return { round, pos: all[at].i, stage: at };
}
