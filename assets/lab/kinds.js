// The rules in three groups, as lists show them. The greedy rule is left out: it is argmax match for one-hot rows.

export const KINDS = [
  ["Lossless", (rule) => rule.lossless && !rule.greedy_only],
  ["Biased, for speed", (rule) => !rule.lossless && !rule.faulty],
  ["Faulty on purpose", (rule) => rule.faulty],
];
