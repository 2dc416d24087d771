// Exactness of a real run: many continuations of one prompt through the whole loop, held against the target's
// own p. Asked for here, run by the worker, polled while it runs; the same numbers as `verify` prints.

import { button, el, replace, setText, table } from "../parts/dom.js";
import { count, decimal, percent } from "../parts/format.js";
import { watermark } from "../tour/watermark.js";

const POLL_MS = 500;
const NUMBERS = {
  samples: "Samples",
  k: "Drafts, k",
  temperature: "Temperature, T",
  top_k: "Top-k",
  seed: "Seed",
};

export function exactnessView(store, actions) {
  const { verify } = actions; // { form, begin, look, stop }, or null
  const prompt = el("input", { class: "ds-input", "aria-label": "Prompt of the verification" });
  const rule = el("select", { class: "ds-select", "aria-label": "Rule to verify" });
  const drafter = el("select", { class: "ds-select", "aria-label": "Drafter" });
  const numbers = Object.fromEntries(
    Object.keys(NUMBERS).map((name) => [
      name,
      el("input", { class: "ds-input", type: "number", step: "any", min: 0 }),
    ]),
  );
  const begin = el("button", { type: "submit", class: "ds-button is-primary" }, "Verify");
  const stop = button("Stop", { hidden: true });
  const words = el("span", { class: "ds-hint", role: "status" });
  const bar = el("progress", { class: "ds-progress", max: 1, hidden: true, "aria-label": "Samples drawn" });
  const labelled = (text, control, wide) =>
    el("label", { class: wide ? "is-wide" : null }, el("span", {}, text), control);
  const form = el(
    "form",
    { class: "ds-verifyform" },
    labelled("Rule", rule),
    labelled("Drafter", drafter),
    Object.entries(NUMBERS).map(([name, text]) => labelled(text, numbers[name])),
    labelled("Prompt, sent as it is", prompt, true),
    el("div", { class: "ds-actions" }, begin, stop, bar, words),
  );
  const result = el("div", { class: "ds-verifyresult", "aria-live": "polite" });
  const root = el(
    "section",
    { class: "ds-whole ds-stats ds-exactness", "aria-label": "Exactness" },
    el(
      "div",
      { class: "ds-panel" },
      el(
        "header",
        { class: "ds-head" },
        el("h2", {}, "Exactness"),
        el(
          "p",
          { class: "ds-facts" },
          "many samples of the next two tokens, from the whole loop, against the target's own distribution",
        ),
      ),
      form,
    ),
    result,
  );
  let filled = false;
  let timer = 0;
  let drawn = null;

  const put = (values) =>
    store.dispatch({ type: "set", values: { verification: { ...store.get().verification, ...values } } });

  async function fill(choices) {
    filled = true;
    const defaults = await verify.form();
    if (!defaults) {
      filled = false;
      return;
    }
    replace(
      rule,
      choices.rules
        .filter((one) => !one.greedy_only)
        .map((one) =>
          el("option", { value: one.id, selected: one.id === defaults.rule }, `${one.title} (${one.id})`),
        ),
    );
    replace(
      drafter,
      choices.drafters
        .filter((name) => name !== "none")
        .map((name) => el("option", { value: name, selected: name === defaults.drafter }, name)),
    );
    prompt.value = defaults.prompt;
    for (const [name, input] of Object.entries(numbers)) input.value = defaults[name];
  }

  async function poll(number) {
    clearTimeout(timer);
    const answer = await verify.look(number);
    if (!answer || store.get().verification?.number !== number) return;
    put({ answer });
    if (answer.status === "running") timer = setTimeout(() => poll(number), POLL_MS);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = { rule: rule.value, drafter: drafter.value, prompt: prompt.value, raw: true };
    for (const [name, input] of Object.entries(numbers))
      asked[name] = input.value === "" ? null : Number(input.value);
    begin.disabled = true;
    const started = await verify.begin(asked);
    begin.disabled = false;
    if (!started) return;
    store.dispatch({ type: "set", values: { verification: { number: started.verification, answer: null } } });
    poll(started.verification);
  });
  stop.addEventListener("click", () => verify.stop(store.get().verification.number));

  return {
    root,
    render(state) {
      root.hidden = state.view !== "exactness";
      if (root.hidden) return;
      if (!filled && state.choices && verify) fill(state.choices);
      const now = state.verification;
      if (now === drawn) return;
      drawn = now;
      const answer = now?.answer ?? null;
      const running = Boolean(now) && (!answer || answer.status === "running");
      stop.hidden = bar.hidden = !running;
      begin.disabled = running;
      if (answer?.fraction) bar.value = answer.fraction;
      else bar.removeAttribute("value");
      setText(words, progressText(now));
      replace(result, answer?.result ? resultOf(answer) : []);
    },
  };
}

function progressText(now) {
  if (!now) return "";
  const answer = now.answer;
  if (!answer) return "Starting…";
  if (answer.status === "running") return answer.progress;
  if (answer.status === "finished") return `Done in ${decimal(answer.seconds)} s.`;
  return answer.reason ? `${answer.status}: ${answer.reason}` : `${answer.status}.`;
}

function resultOf(answer) {
  const { result } = answer;
  const kind = result.passed ? "is-good" : "is-faulty";
  return [
    el(
      "section",
      { class: "ds-panel ds-verdict", "aria-label": "Verdict" },
      el(
        "header",
        { class: "ds-head" },
        el("h3", {}, sentence(result.verdict)),
        el("em", { class: `ds-kind ${kind}` }, result.passed ? "passed" : "failed"),
        watermark(answer),
        el(
          "p",
          { class: "ds-facts" },
          `${answer.rule} with ${answer.drafter}, ${count(answer.samples, "sample")}, k ${answer.k}, seeds from ${answer.seed}`,
        ),
      ),
      answer.rule_reason
        ? el(
            "p",
            { class: "ds-hint" },
            `Ran ${answer.rule} instead of ${answer.asked}: ${answer.rule_reason}.`,
          )
        : null,
      result.reasons.length
        ? el(
            "ul",
            { class: "ds-reasons" },
            result.reasons.map((reason) => el("li", {}, reason)),
          )
        : null,
      el(
        "ul",
        { class: "ds-sentences" },
        sentences(answer).map((text) => el("li", {}, text)),
      ),
    ),
    el(
      "section",
      { class: "ds-panel ds-stattable", "aria-label": "Tests", tabindex: 0, role: "region" },
      el("h3", {}, "Tests"),
      testsTable(result),
    ),
    result.rivals.length
      ? el(
          "section",
          { class: "ds-panel ds-stattable", "aria-label": "Power", tabindex: 0, role: "region" },
          el("h3", {}, "Power: which other rules this sample would have caught"),
          powerTable(result.rivals),
        )
      : null,
  ];
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// What the tests say, in plain words.
export function sentences({ samples, result }) {
  const { first_tokens: first, pairs, acceptance, violations, run_again: again, alpha } = result;
  const fits = (test, what) =>
    test.dof === 0
      ? `There was one outcome among the ${what}: nothing to test.`
      : `The ${what} ${test.fails ? "do not follow" : "follow"} the target: a right rule deviates this much or more ${odds(test.p_value)}.`;
  const outside = violations.reduce((sum, one) => sum + one.times, 0);
  return [
    fits(first, "first tokens"),
    fits(pairs, "pairs"),
    outside
      ? `${count(outside, "token")} came where the target gives no mass: no chance explains that.`
      : "No token came from outside the target's support.",
    acceptanceSentence(acceptance),
    `${again.same} of ${again.of} samples run again with nothing shared came out the same.`,
    `A right rule fails each test once in ${Math.round(1 / alpha)
      .toLocaleString("en")
      .replaceAll(",", " ")}; there were ${count(samples, "sample")}.`,
  ];
}

const odds = (p) => (p >= 0.01 ? `${percent(p)} of the time` : `with probability ${decimal(p)}`);

function acceptanceSentence(one) {
  if (one.p_value === null) return `Acceptance was not tested: ${one.basis}.`;
  const measured = `${one.accepted} of ${one.positions_tested} tested drafts accepted (${percent(one.per_position_acceptance)})`;
  return `${measured}, where ${one.basis} expects ${percent(one.expected)}: ${one.fails ? "off" : "fits"}, p = ${decimal(one.p_value)}.`;
}

function testsTable(result) {
  const chi = (name, test) => [
    name,
    `chi-square ${decimal(test.statistic)} on ${test.dof}`,
    test.cells,
    percent(test.merged_mass),
    decimal(test.p_value),
    test.fails ? "fails" : "fits",
  ];
  const { acceptance } = result;
  const rows = [
    chi("first tokens", result.first_tokens),
    chi("pairs", result.pairs),
    result.drafts ? chi("drafts against q", result.drafts) : null,
    [
      "acceptance",
      `${acceptance.accepted} of ${acceptance.positions_tested}`,
      "–",
      "–",
      acceptance.p_value === null ? "–" : decimal(acceptance.p_value),
      acceptance.p_value === null ? "not tested" : acceptance.fails ? "fails" : "fits",
    ],
    [
      "support",
      `${count(result.violations.length, "token")} outside`,
      "–",
      "–",
      "–",
      result.violations.length ? "fails" : "fits",
    ],
  ];
  return table(["test", "statistic", "cells", "merged mass", "p-value", "says"], rows.filter(Boolean));
}

function powerTable(rivals) {
  const tv = (one) => (one ? decimal(one.tv) : "–");
  return table(
    ["rule", "caught", "TV of first tokens", "TV of pairs"],
    rivals.map((one) => [
      one.rule,
      one.caught?.replace("%", "\u00a0%") ?? `unknown: ${one.why_no_pairs}`,
      tv(one.first_tokens),
      one.pairs ? tv(one.pairs) : one.why_no_pairs || "–",
    ]),
  );
}
