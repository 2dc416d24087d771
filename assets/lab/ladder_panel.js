// From one coin to all of them: the coin of one position, every u it could have been, every position of a text, every
// rule. One seed throughout, so each rung shows the same coins as the one below.

import { button, el, replace } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { seededCoins } from "./coins.js";
import { refillSquare, square } from "./ladder_figures.js";
import { textOf } from "./play.js";
import { overlap } from "./rows.js";
import { paramsOf, RUNGS } from "./state.js";
import { ruleOf } from "./table.js";

const TITLES = {
  coin: "One coin",
  position: "All u at this position",
  text: "All positions",
  rules: "All rules",
};
const POSITIONS = 12;

export function ladderPanel(lab) {
  const tabs = RUNGS.map((rung, i) =>
    button(`${i + 1}. ${TITLES[rung]}`, {
      "data-rung": rung,
      onclick: () => lab.change({ ...lab.get(), rung }),
    }),
  );
  const body = el("div", { class: "ds-lab-rung" });
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel", id: "ds-lab-ladder", "aria-label": "From one coin to all" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Why it is exact: from one coin to all of them"),
      el("p", { class: "ds-facts" }, "rejection sampling; one seed, the same coins on every rung"),
    ),
    el("div", { class: "ds-lab-chips", role: "group", "aria-label": "Rungs" }, tabs),
    body,
  );
  let drawn = "";
  return {
    root,
    render(state) {
      const { p, q, k, rule, params, seed, text, rung, names } = state;
      const key = JSON.stringify([p, q, k, rule, params, seed, text, rung, names, lab.rules().length]);
      if (key === drawn) return;
      drawn = key;
      tabs.forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.rung === rung)));
      replace(body, DRAW[rung](lab, state));
    },
  };
}

const DRAW = { coin: oneCoin, position: allCoins, text: allPositions, rules: allRules };

// The draft and the coin of the text's first position.
function firstPosition({ p, q, seed, text }) {
  const coins = seededCoins(seed + text);
  const x = coins.choose(q, { purpose: "draft", position: 0, attempt: 0 });
  const u = coins.u({ purpose: "accept", position: 0, attempt: 0 });
  return { x, u, bar: Math.min(1, p[x] / q[x]) };
}

function oneCoin(lab, state) {
  const { x, u, bar } = firstPosition(state);
  const { names, p, q } = state;
  const kept = u < bar;
  return [
    square(state, { x, u, all: false }),
    el(
      "div",
      { class: "ds-lab-words" },
      el(
        "p",
        {},
        `The draft is ${names[x]}. One coin falls: u = ${decimal(u)}, its address is accept, position 0, attempt 0, seed ${state.seed + state.text}.`,
      ),
      el(
        "p",
        {},
        `The column of ${names[x]} is coloured up to its threshold min(1, p/q) = min(1, ${decimal(p[x])} / ${decimal(q[x])}) = ${decimal(bar)}. The coin lies ${kept ? "in the coloured part: kept" : "above it: rejected"}.`,
      ),
      el("p", { class: "ds-hint" }, "One coin says nothing about whether the rule is right. Go up a rung."),
    ),
  ];
}

function allCoins(lab, state) {
  const { p, q } = state;
  const { x, u } = firstPosition(state);
  const both = overlap(p, q);
  return [
    square(state, { x, u, all: true }),
    refillSquare(state),
    el(
      "div",
      { class: "ds-lab-words" },
      el(
        "p",
        {},
        "The square holds every draft (across, as wide as q) and every coin (up). The coin of before is still the dot in it.",
      ),
      el(
        "p",
        {},
        `Blue is kept: each column has the area q times min(1, p/q) = min(p, q), ${percent(both)} in all. The rest, ${percent(1 - both)}, is rejected.`,
      ),
      el(
        "p",
        {},
        both > 1 - 1e-9
          ? "Here nothing is rejected: p and q are equal."
          : "The rejected area is poured into what p still lacks, (p − q)⁺, which has the very same size. Kept and refilled together make p, token by token.",
      ),
    ),
  ];
}

// A text from position to position under the rule, with each coin that was asked for.
function playedPositions(rule, { p, q, k, seed, text }, most) {
  const played = textOf(rule, p, q, k, seed + text);
  const rounds = [];
  while (played.tokens.length < most) rounds.push(played.round());
  return rounds.flatMap((round, index) =>
    round.emitted.map((token, i) => {
      const check = round.verdict.checks[i];
      const draft = round.drafts[i];
      const fate = i < round.verdict.n ? "accepted" : round.verdict.source;
      return { position: round.start + i, index, token, fate, draft, check };
    }),
  );
}

function allPositions(lab, state) {
  const rule = ruleOf("stochastic");
  const found = playedPositions(rule, state, POSITIONS).slice(0, POSITIONS);
  const tested = found.filter(({ check, fate }) => check && fate !== "bonus");
  const kept = tested.filter(({ check }) => check.accepted).length;
  return [
    el(
      "div",
      { class: "ds-lab-scroll", tabindex: 0, role: "region", "aria-label": "All positions of a text" },
      el(
        "table",
        { class: "ds-table ds-lab-positions" },
        rowOf(
          "position",
          found.map((one) => String(one.position)),
          "col",
        ),
        rowOf(
          "draft",
          found.map((one) => (one.draft === undefined ? "–" : state.names[one.draft])),
        ),
        rowOf(
          "coin u",
          found.map((one) =>
            one.check?.u === undefined || one.check.u === null ? "–" : one.check.u.toFixed(3),
          ),
        ),
        rowOf(
          "threshold",
          found.map((one) => (one.check ? one.check.threshold.toFixed(3) : "–")),
        ),
        rowOf(
          "emitted",
          found.map((one) => tokenCell(state.names[one.token], one.fate)),
        ),
      ),
    ),
    el(
      "p",
      { class: "ds-lab-words" },
      `The first coin is the one of the rungs below. Each position has coins of its own: ${kept} of ${tested.length} tested drafts stood here, ${percent(overlap(state.p, state.q))} stand on average. A rejection ends the round; the next one starts behind it.`,
    ),
  ];
}

const rowOf = (name, cells, scope = null) =>
  el(
    "tr",
    {},
    el("th", { scope: "row" }, name),
    cells.map((cell) => el(scope ? "th" : "td", scope ? { scope } : {}, cell)),
  );

const tokenCell = (name, fate) => el("span", { class: `ds-lab-fate is-${fate}`, title: fate }, name);

function allRules(lab, state) {
  const coins = seededCoins(state.seed + state.text);
  const positions = Array.from({ length: Math.min(POSITIONS, 8) }, (_, i) => i);
  const own = playedPositions(lab.rule(), state, positions.length);
  const line = (meta) => {
    const rule = meta.id === state.rule ? lab.rule() : ruleOf(meta.id, paramsOf(meta));
    const cells = playedPositions(rule, state, positions.length).slice(0, positions.length);
    const parts = cells.findIndex((one, i) => one.token !== own[i].token);
    return el(
      "tr",
      { class: meta.id === state.rule ? "is-own" : null },
      el(
        "th",
        { scope: "row" },
        meta.id,
        meta.faulty ? el("em", { class: "ds-kind is-faulty" }, "faulty") : null,
      ),
      cells.map((one) => el("td", {}, tokenCell(state.names[one.token], one.fate))),
      el("td", {}, parts < 0 ? "same" : `at ${parts}`),
    );
  };
  return [
    el(
      "div",
      { class: "ds-lab-scroll", tabindex: 0, role: "region", "aria-label": "All rules on the same coins" },
      el(
        "table",
        { class: "ds-table ds-lab-positions" },
        el(
          "thead",
          {},
          rowOf("position", [...positions.map(String), "parts"], "col"),
          rowOf("accept coin", [
            ...positions.map((i) => coins.u({ purpose: "accept", position: i, attempt: 0 }).toFixed(3)),
            "",
          ]),
        ),
        el(
          "tbody",
          {},
          lab
            .rules()
            .filter((meta) => !meta.greedy_only)
            .map(line),
        ),
      ),
    ),
    el(
      "p",
      { class: "ds-lab-words" },
      `Every rule meets the same coins: a coin belongs to its purpose, position and attempt under seed ${state.seed + state.text}, not to the order of asking. So where two rules part, the rule did it. The last column says where each leaves ${state.rule}. Rules that look ahead take a new attempt where a position is drafted again.`,
    ),
  ];
}
