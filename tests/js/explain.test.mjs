import assert from "node:assert/strict";
import test from "node:test";
import {
  explainDraft,
  explainNext,
  formula,
  headline,
  origin,
  thresholdName,
} from "../../assets/inspect/explain.js";
import { draft, round, words } from "./rounds.mjs";

const one = (position, more = {}) => ({ ...round(0, "a"), ...more, positions: [position] });
const say = (position, rule) => words(explainDraft(one(position), 0, rule));

test("the sentence has this token's numbers and the right side of the threshold", () => {
  assert.match(
    say(draft("rejected"), "stochastic"),
    /<10> 20\.0\s%, the draft gave it 40\.0\s%.*probability 0\.5.*u = 0\.7, not below that: rejected/,
  );
  assert.match(say(draft("accepted"), "stochastic"), /u = 0\.3, below that: kept/);
});

test("a token the target wants more needs no luck, one it never says has none", () => {
  assert.match(
    say(draft("accepted", 10, { p: 0.6, accept_prob: 1 }), "stochastic"),
    /kept wherever the coin falls/,
  );
  assert.match(say(draft("rejected", 10, { p: 0, accept_prob: 0 }), "stochastic"), /never says this here/);
});

test("an untested draft was not tested; a rescued one says what would have been", () => {
  assert.match(say(draft("untested"), "stochastic"), /never tested/);
  const rescued = draft("accepted", 10, { rescued: true, own: { token: 7, u: 0.2, slice: [0, 1] } });
  assert.match(say(rescued, "stochastic"), /own draw here was <7>.*yet the draft stood/);
});

test("rules without a coin are explained by what they compare", () => {
  const missed = draft("rejected", 10, { u: null, own: { token: 7, u: 0.2, slice: [0, 1] } });
  assert.match(say(missed, "sampler-match"), /drew its own token here, <7>: another one/);
  assert.match(say(draft("accepted", 10, { u: null }), "argmax"), /most probable token, so it stands/);
  assert.match(
    say(draft("accepted", 10, { u: null }), "a-rule-of-tomorrow"),
    /tosses no coin here: it keeps/,
  );
});

test("block verification: a failed test can be overruled by a longer prefix", () => {
  const carried = draft("accepted", 10, { passed: false, u: 0.9, accept_prob: 0.1 });
  assert.match(say(carried, "block"), /not below it\. A longer prefix stood/);
  const dropped = { ...draft("untested"), accept_prob: 0.1, u: 0.9, passed: false };
  assert.match(say(dropped, "block"), /dropped with the rest/);
});

test("the threshold is named for what it is", () => {
  assert.equal(thresholdName(draft("accepted"), "stochastic"), "p/q");
  const recorded = { p: 0.6723412, q: 0.7863159, accept_prob: 0.8550523 }; // seven digits of each
  assert.equal(thresholdName(draft("accepted", 10, recorded), "stochastic"), "p/q");
  assert.notEqual(thresholdName(draft("accepted", 10, { ...recorded, accept_prob: 0.8551 }), "x"), "p/q");
  assert.equal(thresholdName(draft("accepted", 10, { p: 0.9, accept_prob: 1 }), "stochastic"), "min(1, p/q)");
  assert.equal(thresholdName(draft("accepted", 10, { accept_prob: 0.2 }), "one-hot"), "p(x)");
  assert.equal(
    thresholdName(draft("accepted", 10, { accept_prob: 0.77 }), "a-rule-of-tomorrow"),
    "accepts with",
  );
  assert.equal(formula(draft("accepted"), "stochastic"), "p/q = 0.2 / 0.4 = 0.5");
  assert.equal(formula(draft("untested"), "stochastic"), "");
});

test("the token that follows says where it came from", () => {
  const bonus = round(0, "aa");
  assert.match(words(explainNext(bonus, "stochastic")), /Every draft stood.*own draw from p.*u = 0\.5/);
  assert.equal(origin(bonus, "stochastic"), "drawn from p");
  const corrected = round(0, "ar");
  corrected.next.residual = { mass: 0.325, degenerate: false, top: [], rest: [0, 0] };
  assert.match(
    words(explainNext(corrected, "stochastic")),
    /After the rejection of <11>.*mass Z = 0\.325.*slice/,
  );
  assert.equal(origin(corrected, "stochastic"), "from the residual");
  assert.match(words(explainNext(corrected, "fault-residual-from-p")), /faulty rule draws it from p/);
  corrected.next.residual.degenerate = true;
  assert.match(words(explainNext(corrected, "stochastic")), /residual is empty/);
  assert.match(words(explainNext(round(0, ""), "stochastic")), /one plain step/);
});

test("an argmax claims no coin, even when one fell at its address", () => {
  assert.equal(origin(round(0, "ar"), "argmax"), "argmax of p");
  assert.doesNotMatch(words(explainNext(round(0, "ar"), "argmax")), /coin fell/);
  const forced = round(0, "aa");
  forced.next.draw.u = null;
  forced.next.p = 1;
  assert.match(words(explainNext(forced, "stochastic")), /no coin was needed/);
});

test("every rule's own words: a forgiven miss, a bar, shared noise, what a refill is drawn from", () => {
  const forgiven = draft("accepted", 10, { u: 0.8 });
  assert.match(say(forgiven, "fly"), /not below that: a miss, forgiven/);
  assert.match(say(draft("rejected"), "lenient"), /Under this rule it is kept with probability 0\.5/);
  assert.match(say(draft("accepted", 10, { u: null, accept_prob: 1 }), "typical"), /likely enough/);
  assert.match(say(draft("rejected", 10, { u: null, accept_prob: 0 }), "relaxed"), /not close enough/);
  assert.match(
    say(
      draft("rejected", 10, { u: null, accept_prob: 0, own: { token: 7, u: null, slice: null } }),
      "gumbel",
    ),
    /target picked <7>/,
  );
  const corrected = round(0, "ar");
  corrected.next.residual = { mass: 0.3, degenerate: false, top: [], rest: [0, 0] };
  assert.match(words(explainNext(corrected, "one-hot")), /p without the rejected token, of mass Z = 0\.3/);
  assert.match(words(explainNext(corrected, "a-rule-of-tomorrow")), /the rule's residual/);
  const noise = round(0, "ar");
  noise.next.draw.u = null;
  assert.doesNotMatch(words(explainNext(noise, "gumbel")), /coin|All the mass/);
});

test("headlines name the token and its fate", () => {
  assert.equal(words(headline(round(0, "ar"), 1)), "Why <11> was rejected");
  assert.equal(words(headline(round(0, "ar"), 2)), "Where <90> came from");
});
