// The stats of a session: each as a figure that zooms and as a table, with what it is a share of.

import { drawFigure, loadPlotly } from "./figures.js";
import { button, el, replace, setText, table } from "../parts/dom.js";
import { count, decimal, milliseconds, percent } from "../parts/format.js";
import { isLive } from "../source/store.js";
import { watermarkStrip } from "../tour/watermark.js";

const LIVE_MS = 2000;

export function statsView(store, actions) {
  const { stats: ask, plotly } = actions;
  const lead = el("p", { class: "ds-statslead" });
  const note = el("p", { class: "ds-hint" });
  const mark = watermarkStrip();
  const tab = (value, text) =>
    button(text, {
      class: "ds-tab",
      onclick: () => store.dispatch({ type: "set", values: { tables: value } }),
    });
  const tabs = el(
    "div",
    { class: "ds-tabs", role: "group", "aria-label": "Charts or tables" },
    tab(false, "Charts"),
    tab(true, "Tables"),
  );
  const grid = el("div", { class: "ds-statsgrid" });
  const head = el(
    "header",
    { class: "ds-head" },
    el("h2", {}, "Statistics"),
    lead,
    el("span", { class: "ds-spring" }),
    plotly ? tabs : null,
  );
  const root = el(
    "section",
    { class: "ds-whole ds-stats", "aria-label": "Statistics" },
    el("div", { class: "ds-panel ds-statshead" }, head, mark.root, note),
    grid,
  );
  const cards = new Map(); // name -> { root, plot, table, facts, drawn }
  let shown = null;
  let asked = { key: "", at: 0 };
  let theme = null;

  // Asks once a session's state; of a running one every two seconds at most.
  function fetchStats(session) {
    const key = `${session.id} ${session.status} ${session.n}`;
    const now = performance.now();
    if (key === asked.key || (isLive(session.status) && now - asked.at < LIVE_MS)) return;
    asked = { key, at: now };
    ask(session.id).then((stats) => {
      if (stats)
        store.dispatch({ type: "set", values: { stats: { ...store.get().stats, [session.id]: stats } } });
    });
  }

  function card(name) {
    if (!cards.has(name)) {
      const facts = el("p", { class: "ds-facts" });
      const plot = el("div", { class: "ds-plot", role: "figure" });
      const table = el("div", { class: "ds-stattable", tabindex: 0, role: "region" });
      const box = el(
        "section",
        { class: `ds-panel ds-statcard is-${name}`, "aria-label": CARDS[name].title },
        el("header", { class: "ds-head" }, el("h3", {}, CARDS[name].title), facts),
        plot,
        table,
      );
      cards.set(name, { root: box, plot, table, facts, drawn: null });
    }
    return cards.get(name);
  }

  async function draw(one, figure, stats, words) {
    const key = `${stats.session} ${stats.rounds} ${theme}`;
    if (one.drawn === key) return;
    one.drawn = key;
    one.plot.setAttribute("aria-label", words);
    try {
      await drawFigure(await loadPlotly(plotly), one.plot, figure, stats.session);
    } catch (error) {
      one.drawn = null;
      store.dispatch({ type: "set", values: { tables: true } });
      store.dispatch({
        type: "error",
        error: { message: error.message, hint: "The tables hold the same numbers." },
      });
    }
  }

  return {
    root,
    render(state) {
      root.hidden = state.view !== "stats";
      if (root.hidden) return;
      const session = state.sessions[state.focus];
      if (session?.head) fetchStats(session);
      const stats = session ? state.stats[session.id] : null;
      const now = document.body.classList.contains("dark") ? "dark" : "light";
      const tables = state.tables || !plotly;
      const key = [stats, tables, now];
      if (shown && key.every((part, i) => part === shown[i])) return;
      [shown, theme] = [key, now];
      [...tabs.children].forEach((child, i) =>
        child.setAttribute("aria-pressed", String(state.tables === (i === 1))),
      );
      setText(
        lead,
        stats ? leadText(stats) : session ? "Counting…" : "Open a session to see what it adds up to.",
      );
      setText(note, stats?.why ?? "");
      mark.show(stats);
      note.hidden = !note.textContent;
      if (!stats) return replace(grid);
      const names = Object.keys(CARDS).filter((name) => CARDS[name].rows(stats).length > 0);
      const boxes = names.map(card);
      if (boxes.some((one, i) => grid.children[i] !== one.root) || grid.children.length !== boxes.length)
        grid.replaceChildren(...boxes.map((one) => one.root));
      names.forEach((name, i) => {
        const one = boxes[i];
        const { facts, columns, rows } = CARDS[name];
        const words = facts(stats);
        setText(one.facts, words);
        const figure = stats.figures?.[name];
        one.plot.hidden = tables || !figure;
        one.table.hidden = !one.plot.hidden;
        one.table.setAttribute("aria-label", `${CARDS[name].title}, table`);
        if (!one.table.hidden) replace(one.table, table(columns, rows(stats)));
        else draw(one, figure, stats, `${CARDS[name].title}: ${words}. The same numbers stand under Tables.`);
      });
      return undefined;
    },
  };
}

export function leadText({ rounds, emitted, proposed, measured }) {
  return [
    count(rounds, "round"),
    count(emitted, "token"),
    `${proposed} drafted`,
    `${measured.part} of ${measured.whole} tested drafts accepted${measured.whole ? ` (${percent(measured.rate)})` : ""}`,
  ].join(" · ");
}

const range = (low, high, say = percent) =>
  low === null || low === undefined ? "–" : `${say(low)} to ${say(high)}`;
const share = (one) => [one.part, one.whole, one.whole ? percent(one.rate) : "–", range(one.low, one.high)];
const SHARE = ["accepted", "tested", "rate", "95 % interval"];
const stretch = (one) => (one.from === one.to ? String(one.from) : `${one.from} to ${one.to}`);

// Title, one line of facts, and the table of each card; the figures come with the statistics.
export const CARDS = {
  depth: {
    title: "Acceptance by depth",
    facts: () => "of the drafts tested at each place of the round, with 95 % Wilson intervals",
    columns: ["draft", "drafted", ...SHARE],
    rows: ({ by_depth: cells }) => cells.map((one) => [one.depth, one.drafted, ...share(one)]),
  },
  lengths: {
    title: "Accepted length",
    facts: ({ rounds, measured }) =>
      `mean ${rounds ? decimal(measured.part / rounds) : "–"} drafts a round (${measured.part} / ${rounds})`,
    columns: ["drafts accepted", "rounds", "of rounds", "share", "95 % interval"],
    rows: ({ lengths, rounds }) => (rounds ? lengths.map((one) => [one.accepted, ...share(one)]) : []),
  },
  closed: {
    title: "Measured against the closed forms",
    facts: ({ closed_form: form, rule }) => (form ? `${rule} expects ${form}` : ""),
    columns: ["closed form", "expected", "95 % of samples", "measured there", "p-value"],
    rows: ({ closed_forms: forms }) =>
      forms
        .filter((one) => one.expected !== null)
        .map((one) => [
          one.name,
          percent(one.expected),
          range(one.low, one.high),
          `${one.accepted} of ${one.tested}`,
          decimal(one.p_value),
        ]),
  },
  entropy: {
    title: "Entropy of p against acceptance",
    facts: ({ correlation: { r, low, high, n } }) =>
      r === null
        ? `no correlation to tell, of ${count(n, "tested draft")}`
        : `correlation r = ${decimal(r)}${low === null ? "" : `, 95 % ${decimal(low)} to ${decimal(high)}`}, of ${count(n, "tested draft")}`,
    columns: ["entropy, nat", "mean sum min(p, q)", ...SHARE],
    rows: ({ by_entropy: cells }) =>
      cells.map((one) => [range(one.from, one.to, decimal), percent(one.sum_min), ...share(one)]),
  },
  passes: {
    title: "Tokens per target pass",
    facts: ({ emitted, rounds }) =>
      `${rounds ? decimal(emitted / rounds) : "–"} on average (${emitted} tokens / ${rounds} passes)`,
    columns: ["rounds", "tokens", "passes", "tokens per pass"],
    rows: ({ pace }) => pace.map((one) => [stretch(one), one.emitted, one.passes, decimal(one.per_pass)]),
  },
  speed: {
    title: "Tokens a second",
    facts: (stats) => speedText(stats),
    columns: ["rounds", "tokens", "time", "tokens a second"],
    rows: ({ pace }) =>
      pace
        .filter((one) => one.per_second !== null)
        .map((one) => [stretch(one), one.emitted, milliseconds(one.ms), decimal(one.per_second)]),
  },
  stages: {
    title: "Where the time goes",
    facts: ({ stages }) => {
      const has = (name) => stages.some((one) => one.stage === name && one.ms > 0);
      return [
        has("matrix") ? "matrix: every other rule on the same drafts, which only this tool does" : "",
        has("store") ? "store: writing each round, and what lies between two" : "",
      ]
        .filter(Boolean)
        .join("; ");
    },
    columns: ["stage", "all rounds", "share", "median round"],
    rows: ({ stages }) =>
      stages.some((one) => one.ms > 0)
        ? stages.map((one) => [
            one.stage,
            milliseconds(one.ms),
            one.share === null ? "–" : percent(one.share),
            milliseconds(one.median),
          ])
        : [],
  },
};

function speedText({ pace }) {
  const ms = pace.reduce((sum, one) => sum + one.ms, 0);
  const tokens = pace.reduce((sum, one) => sum + one.emitted, 0);
  return ms
    ? `${decimal((1000 * tokens) / ms)} on average (${tokens} tokens in ${milliseconds(ms)}); drafting, target and judging`
    : "";
}
