import assert from "node:assert/strict";
import test from "node:test";
import { fateKnown, revealed, stageName, stagesOf, stepStage } from "../../assets/inspect/stages.js";
import { round } from "./rounds.mjs";

const names = (one) => stagesOf(one).map(stageName);
const corrected = round(0, "aru");
corrected.next.residual = { mass: 0.3, degenerate: false, top: [], rest: [0, 0] };

test("a round's stages: drafts, one target pass, a test each until one fails, what follows", () => {
  assert.deepEqual(names(corrected), [
    "draft 1",
    "draft 2",
    "draft 3",
    "target pass",
    "test 1",
    "test 2",
    "residual",
  ]);
  assert.deepEqual(names(round(0, "a")), ["draft 1", "target pass", "test 1", "bonus"]);
  assert.deepEqual(names(round(0, "")), ["target pass", "target step"]);
  assert.deepEqual(names(round(0, "a", { next: null })), ["draft 1", "target pass", "test 1"]);
  assert.equal(names(round(0, "r")).at(-1), "replacement");
});

test("each stage shows what has happened and nothing else", () => {
  const see = (stage) => revealed(corrected, stage);
  assert.deepEqual([see(1).drafts, see(1).target, see(1).coins, see(1).next], [2, false, 0, false]);
  assert.deepEqual([see(3).drafts, see(3).target, see(3).coins], [3, true, 0]);
  assert.deepEqual([see(5).coins, see(5).next, see(5).all], [2, false, false]);
  assert.deepEqual([see(6).next, see(6).all], [true, true]);
  assert.equal(see(null).all, true);
  assert.equal(revealed(round(0, ""), 0).next, false, "the pass comes before its token");
});

test("a fate is known after its own test, or after the one that cut the round", () => {
  const at = (stage) => [0, 1, 2].map((pos) => fateKnown(corrected, pos, revealed(corrected, stage)));
  assert.deepEqual(at(3), [false, false, false]);
  assert.deepEqual(at(4), [true, false, false]);
  assert.deepEqual(at(5), [true, true, true]);
});

test("a rule that weighs the block knows no fate before its last test", () => {
  const block = round(0, "aru");
  block.positions[2].accept_prob = 0.2;
  assert.equal(fateKnown(block, 0, revealed(block, 4), true), false);
  assert.equal(fateKnown(block, 0, revealed(block, 6), true), true);
});

test("stepping walks over round borders and stops at both ends", () => {
  const session = { rounds: [round(0, "a"), round(1, "r")] };
  let place = stepStage(session, { round: 0, pos: 0 }, null, 1);
  assert.deepEqual(place, { round: 0, pos: 0, stage: 0 });
  const seen = [];
  for (let i = 0; i < 12; i += 1) {
    seen.push(`${place.round}.${place.stage}`);
    place = stepStage(session, place, place.stage, 1);
  }
  assert.deepEqual(seen.slice(0, 8), ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1", "1.2", "1.3"]);
  assert.deepEqual(new Set(seen.slice(8)), new Set(["1.3"]));
  assert.deepEqual(stepStage(session, { round: 1, pos: 0 }, 0, -1), { round: 0, pos: 1, stage: 3 });
  assert.deepEqual(stepStage(session, { round: 0, pos: 0 }, 0, -1), { round: 0, pos: 0, stage: 0 });
  assert.deepEqual(
    stepStage(session, { round: 0, pos: 1 }, null, -1).stage,
    2,
    "back from a whole round hides its last stage",
  );
});
