// Means and intervals of a comparison over seeds, in words. Pure.

import { count } from "../parts/format.js";

// Four decimals, with a sign where one is asked for; what rounds to 0 has none.
function digits(value, signed) {
  const text = Math.abs(value).toFixed(4);
  if (Number(text) === 0) return text;
  return `${value < 0 ? "−" : signed ? "+" : ""}${text}`;
}

// { mean, interval } of an estimate { mean, low, high, n }; a difference has its sign.
export function estimate({ mean, low, high }, signed) {
  if (mean === null) return { mean: "n/a", interval: "" };
  const interval = low === null ? "" : `${digits(low, signed)} to ${digits(high, signed)}`;
  return { mean: digits(mean, signed), interval };
}

// "7 of 36: prompt 1, seed 2, block"
export const stepOf = ({ step, done, runs }) =>
  step
    ? `${done} of ${count(runs, "run")}; under way: prompt ${step.prompt + 1}, seed ${step.seed}, ${step.rule}`
    : `${done} of ${count(runs, "run")}`;

// How it ended: whether all runs are there, and how many were there before.
export function leadOf({ done, runs, found, complete }) {
  const taken = found ? `, ${found} of them stored before` : "";
  return complete ? `${count(runs, "run")}${taken}` : `Stopped at ${done} of ${runs}${taken}; Start goes on.`;
}
