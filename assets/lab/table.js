// Every rule by its id. What it is called, says and takes comes from the engine; this is what it does.

import { cascade, ensemble, fly, lenient, relaxed, synthetic, threshold, typical } from "./biased.js";
import { blockVerification } from "./block.js";
import { oneTokenResidual, rawQ, residualFromP, sharedCoin, softmaxQ, stringMatch } from "./faults.js";
import { argmaxMatch, gumbel, oneHot, samplerMatch, stochastic } from "./rules.js";

const MAKERS = {
  stochastic,
  "sampler-match": samplerMatch,
  "one-hot": oneHot,
  block: blockVerification,
  gumbel,
  "greedy-argmax": argmaxMatch,
  argmax: argmaxMatch,
  lenient,
  ensemble,
  typical,
  threshold,
  relaxed,
  fly,
  cascade,
  synthetic,
  "fault-residual-from-p": residualFromP,
  "fault-one-token-residual": oneTokenResidual,
  "fault-shared-coin": sharedCoin,
  "fault-softmax-q": softmaxQ,
  "fault-raw-q": rawQ,
  "fault-string-match": stringMatch,
};

export const RULE_IDS = Object.keys(MAKERS);

// { id, draft, targetDraw, judge, acceptance, accepted, ... } of a rule with its parameters.
export function ruleOf(id, params = {}) {
  const made = MAKERS[id](params);
  return {
    id,
    params,
    looksAhead: false,
    draft: (row, coins, at) => coins.choose(row, at),
    targetDraw: (row, coins, at) => coins.choose(row, at),
    accepted: (p, q, k) => inTurn(made.acceptance, p, q, k),
    ...made,
  };
}

// The mean number of accepted drafts where each is tested alone, after the one before it stood.
function inTurn(acceptance, p, q, k) {
  let [stands, mean] = [1, 0];
  for (let i = 0; i < k; i += 1) {
    stands *= acceptance(p, q, i);
    mean += stands;
  }
  return mean;
}
