// From one coin to all of them: the coin of one position, every u it could have been, every position of a text, every
// rule. One seed throughout, so each rung shows the same coins as the one below.

import { button, el, replace, svg } from "../dom.js";
import { decimal, percent } from "../format.js";
import { seededCoins } from "./coins.js";
import { textOf } from "./play.js";
import { overlap, residual } from "./rows.js";
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
    square(state, { x, u, only: true }),
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
    square(state, { x, u, only: false }),
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

const SIZE = 220;

// Across: the drafts, as wide as q. Up: u. Blue up to each threshold.
function square({ names, p, q }, { x, u, only }) {
  let left = 0;
  const columns = q.flatMap((width, id) => {
    if (!(width > 0)) return [];
    const start = left;
    left += width;
    return [{ id, start, width, bar: Math.min(1, p[id] / width) }];
  });
  const [px, py] = [(v) => 20 + v * SIZE, (v) => 6 + (1 - v) * SIZE];
  const own = columns.find((column) => column.id === x);
  const shown = (column) => !only || column === own;
  const part = (column, low, high, kind) =>
    svg("rect", {
      class: `ds-lab-area is-${kind}`,
      x: px(column.start),
      y: py(high),
      width: column.width * SIZE,
      height: (high - low) * SIZE,
    });
  return figure(
    only ? "the coin in the square of all drafts and all coins" : "kept and rejected areas",
    columns
      .filter(shown)
      .flatMap((column) => [part(column, 0, column.bar, "kept"), part(column, column.bar, 1, "dropped")]),
    svg("rect", { class: "ds-lab-frame", x: px(0), y: py(1), width: SIZE, height: SIZE }),
    columns.map((column) => [
      svg("line", {
        class: "ds-lab-frame",
        x1: px(column.start),
        x2: px(column.start),
        y1: py(0),
        y2: py(1),
      }),
      column.width > 0.06
        ? svg(
            "text",
            { class: "ds-lab-tick", x: px(column.start + column.width / 2), y: py(0) + 14 },
            names[column.id],
          )
        : null,
    ]),
    svg("circle", { class: "ds-lab-dot", cx: px(own.start + own.width / 2), cy: py(u), r: 5 }),
    axis("u"),
  );
}

// p as columns: what was kept, and what the residual refills.
function refillSquare({ names, p, q }) {
  const { row, mass } = residual(p, q);
  const top = Math.max(...p, 0.01);
  const wide = SIZE / p.length;
  const y = (value) => 6 + (1 - value / top) * SIZE;
  const column = (id, low, high, kind) =>
    svg("rect", {
      class: `ds-lab-area is-${kind}`,
      x: 20 + id * wide + 3,
      y: y(high),
      width: wide - 6,
      height: Math.max(0, y(low) - y(high)),
    });
  return figure(
    "kept and refilled make p",
    p.flatMap((prob, id) => {
      const both = Math.min(prob, q[id]);
      return [column(id, 0, both, "kept"), column(id, both, both + (row ? row[id] * mass : 0), "refilled")];
    }),
    p.map((prob, id) => [
      svg("line", {
        class: "ds-lab-wantline",
        x1: 20 + id * wide,
        x2: 20 + (id + 1) * wide,
        y1: y(prob),
        y2: y(prob),
      }),
      svg("text", { class: "ds-lab-tick", x: 20 + (id + 0.5) * wide, y: y(0) + 14 }, names[id]),
    ]),
    svg("line", { class: "ds-lab-frame", x1: 20, x2: 20 + SIZE, y1: y(0), y2: y(0) }),
    axis("p"),
  );
}

const figure = (label, ...children) =>
  el(
    "figure",
    { class: "ds-lab-figure" },
    svg("svg", { viewBox: `0 0 ${SIZE + 30} ${SIZE + 30}`, role: "img", "aria-label": label }, children),
    el("figcaption", {}, label),
  );

const axis = (name) => svg("text", { class: "ds-lab-tick", x: 8, y: SIZE / 2 + 6 }, name);

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
