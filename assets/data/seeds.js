// Many seeds: rules over seeds and prompts, with means and paired differences, as `python app.py compare` gives them.
// The comparison runs by itself; this panel begins it, looks how far it is, and stops it.

import { button, el, numberHead, replace, setText, tableHead } from "../parts/dom.js";
import { estimate, leadOf, stepOf } from "./estimates.js";

const POLL_MS = 800;

export function seedsPanel(store, { seeds, guarded }) {
  const rules = field("text", "stochastic,sampler-match,block");
  const numbers = field("text", "0:10");
  const most = el("input", { class: "ds-input", type: "number", min: 1, value: "32" });
  const prompts = el("textarea", { class: "ds-input", rows: 3, spellcheck: "false" });
  prompts.value = "Why is the sky blue?";
  const file = el("input", { type: "file", accept: ".txt,text/plain", class: "ds-sr", tabindex: "-1" });
  const from = button("From a file", { class: "ds-button is-small", onclick: () => file.click() });
  const settings = el("p", { class: "ds-hint" });
  const begin = el("button", { type: "submit", class: "ds-button is-primary" }, "Start");
  const stop = button("Stop", { hidden: true });
  const bar = el("progress", { class: "ds-progress", max: 1, hidden: true, "aria-label": "Runs done" });
  const words = el("span", { class: "ds-hint", role: "status" });
  const form = el(
    "form",
    { class: "ds-seedsform" },
    labelled("Rules, the first is the baseline", rules, "is-wide"),
    labelled("Seeds", numbers),
    labelled("Max tokens", most),
    labelled("Prompts, one on each line", prompts, "is-wide"),
    el("div", { class: "ds-actions" }, begin, stop, from, file, bar, words),
  );
  const result = el("div", { class: "ds-seedsresult" });
  const root = el(
    "section",
    { class: "ds-panel ds-seeds", "aria-label": "Many seeds" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Many seeds"),
      el(
        "p",
        { class: "ds-facts" },
        "what is stored already is not run again, so a stop or a crash costs nothing",
      ),
    ),
    settings,
    form,
    result,
  );
  let number = null;
  let looking = false;
  let timer = 0;
  let focus = null;

  async function look() {
    if (looking) return;
    looking = true;
    const answer = await guarded(() => seeds.look(number));
    looking = false;
    if (!answer?.comparison) return;
    number = answer.comparison;
    show(answer.status);
    clearTimeout(timer);
    if (answer.status.running) timer = setTimeout(look, POLL_MS);
  }

  function show(status) {
    const { running, done, runs, error } = status;
    begin.disabled = running;
    stop.hidden = !running;
    bar.hidden = !running;
    bar.value = done / runs;
    setText(words, running ? stepOf(status) : error ? "" : leadOf(status));
    replace(result, error && refusal(error), done ? tables(status) : null);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    begin.disabled = true;
    setText(words, "Starting…");
    const asked = {
      rules: rules.value,
      seeds: numbers.value,
      prompts: prompts.value,
      max_tokens: Number(most.value),
      session: focus,
    };
    try {
      ({ comparison: number } = await seeds.begin(asked));
      look();
    } catch (error) {
      begin.disabled = false;
      setText(words, "");
      replace(result, refusal(error));
    }
  });
  stop.addEventListener("click", async () => {
    stop.disabled = true;
    setText(words, "Stopping…");
    await guarded(() => seeds.stop(number));
    stop.disabled = false;
    look();
  });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (chosen) prompts.value = await chosen.text();
    file.value = "";
  });

  return {
    root,
    open: look,
    render(state) {
      const head = state.sessions[state.focus]?.head;
      focus = head && !head.recorded ? head.id : null;
      setText(
        settings,
        focus
          ? `Models, k and sampling are those of session #${focus}.`
          : "Models, k and sampling are the form's own.",
      );
    },
  };
}

const field = (type, value) =>
  el("input", { class: "ds-input", type, value, spellcheck: "false", autocomplete: "off" });
const labelled = (text, control, wide = null) => el("label", { class: wide }, el("span", {}, text), control);
const refusal = ({ message, hint }) =>
  el("p", { class: "ds-refusal", role: "alert" }, el("b", {}, message), " ", hint ?? "");

// A table a score: a line a rule, its mean and its difference from the first, with intervals.
function tables({ scores, rules, level, unbatched, differing_versions: differing }) {
  return [
    Object.entries(scores).map(([name, meaning]) => scoreTable(name, meaning, rules)),
    el(
      "p",
      { class: "ds-hint" },
      `Intervals at ${Math.round(100 * level)} %, Student's t; differences within pairs of equal prompt and seed, which share their coins.`,
      rules
        .filter((rule) => rule.rule_reason)
        .map((rule) => ` ${rule.rule} ran as ${rule.ran}: ${rule.rule_reason}.`),
      unbatched ? ` Run one by one: ${unbatched}.` : "",
      differing.length ? ` The runs differ in their versions of ${differing.join(", ")}.` : "",
    ),
  ];
}

function scoreTable(name, meaning, rules) {
  const cells = (found, signed) => {
    const { mean, interval } = estimate(found, signed);
    return [el("td", { class: "ds-number" }, mean), el("td", { class: "ds-number ds-interval" }, interval)];
  };
  return el(
    "table",
    { class: "ds-table ds-score" },
    el("caption", {}, el("b", {}, name.replaceAll("_", " ")), ` ${meaning}`),
    tableHead([
      "rule",
      ...["runs", "mean", "interval", `against ${rules[0].rule}`, "interval"].map(numberHead),
    ]),
    el(
      "tbody",
      {},
      rules.map((rule) => {
        const { mean, difference } = rule.scores[name];
        return el(
          "tr",
          {},
          el("th", { scope: "row" }, rule.rule),
          el("td", { class: "ds-number" }, String(mean.n)),
          cells(mean, false),
          difference ? cells(difference, true) : [el("td", { class: "ds-number" }, "baseline"), el("td", {})],
        );
      }),
    ),
  );
}
