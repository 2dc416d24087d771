// The rule matrix: every rule on the drafts and coins of this very round. No model ran for it.

import { el, replace, setText, tableHead, tokenText } from "../parts/dom.js";
import { decimal, share } from "../parts/format.js";
import { asItRan, dissenters, fatesUnder, grouped, isGreedy, meanTv, withOwn } from "./matrix.js";
import { revealed } from "./stages.js";
import { selected } from "../source/store.js";

const TITLES = { lossless: "Lossless", biased: "Biased", faulty: "Faulty, to be seen failing" };
const GLYPHS = { accepted: "✓", rejected: "✗", untested: "–" };

export function matrixPane(store) {
  const note = el("p", { class: "ds-hint ds-rulemeaning" });
  const body = el("div", { class: "ds-matrix-body" });
  const root = el("div", { class: "ds-matrix" }, body, note);
  const resting = "Same drafts, same coins: no model runs. Point at a rule to read what it does.";
  const explain = (rule) => setText(note, rule ? `${rule.title}. ${rule.meaning} ${rule.formula}` : resting);
  root.addEventListener("pointerleave", () => explain(null));
  let drawn = null;
  return {
    tools: el("div", {}),
    root,
    render(state, visible) {
      const { session, round } = selected(state);
      if (!visible) return;
      const rules = withOwn(state.choices?.rules ?? [], session?.head);
      const key = `${session.id}/${round.i}/${state.stage}/${session.head?.rule}/${rules.length}/${session.rounds.length}`;
      if (key === drawn) return;
      drawn = key;
      explain(null);
      replace(body, contents(session, round, rules, revealed(round, state.stage), explain));
    },
  };
}

function contents(session, round, rules, seen, explain) {
  if (!seen.all) return el("p", { class: "ds-empty" }, "Shown when the round has been judged: step on.");
  if (!round.matrix?.length) {
    return el("p", { class: "ds-empty" }, "This round was stored without what other rules would have done.");
  }
  return table(session, round, rules, explain);
}

const HEADS = [
  ["rule", ""],
  ["these drafts", "the fate of each draft of this round: ✓ accepted, ✗ rejected, – untested"],
  ["next", "the token that would follow them"],
  ["accepted", "accepted / tested, over all rounds of this session, on its own drafts"],
  ["tokens a pass", "emitted tokens over target passes, on the session's own drafts"],
  [
    "TV to p",
    "how far the rule's law of one position is from p, averaged over the tested drafts; 0 is exact",
  ],
];

function table(session, round, rules, explain) {
  const own = session.head?.rule;
  const others = new Set(dissenters(round, rules, own));
  const totals = session.tally.matrix;
  return el(
    "table",
    { class: "ds-table ds-matrixtable" },
    tableHead(HEADS.map(([text, title]) => [text, { title: title || null }])),
    grouped(round, rules, totals, isGreedy(session.head)).map(({ kind, rows }) =>
      el(
        "tbody",
        { class: `is-${kind}` },
        el(
          "tr",
          { class: "ds-matrixkind" },
          el("th", { colspan: HEADS.length, scope: "rowgroup" }, TITLES[kind]),
        ),
        rows.map((row) => line(session, round, row, { own, differs: others.has(row.rule.id), explain })),
      ),
    ),
  );
}

function line(session, round, { rule, line: judged, total }, { own, differs, explain }) {
  const [, accepted, token] = judged;
  const say = () => explain(rule);
  const tv = meanTv(total);
  return el(
    "tr",
    {
      class: [rule.id === own ? "is-own" : "", differs ? "is-different" : ""].join(" ").trim() || null,
      "data-rule": rule.id,
      onpointerenter: say,
      onfocusin: say,
    },
    el(
      "th",
      { scope: "row", title: rule.meaning },
      el("span", { tabindex: "0" }, rule.id),
      badges(rule, judged, session.head),
    ),
    el("td", { class: "ds-fates" }, fateGlyphs(accepted, round.k)),
    el("td", { class: "ds-matrixnext" }, token === null ? "ended" : tokenText(session.pieces[token], 12)),
    el("td", { class: "ds-number" }, total ? share(total.accepted, total.tested) : "–"),
    el("td", { class: "ds-number" }, total ? decimal(total.emitted / total.rounds) : "–"),
    tvCell(tv, rule),
  );
}

function badges(rule, judged, head) {
  const own = head?.rule;
  const out = [];
  if (judged[4]) out.push(el("em", { class: "ds-kind" }, written(judged[4])));
  if (rule.id === own && asItRan(judged, rule, head))
    out.push(el("em", { class: "ds-kind is-good" }, "this session"));
  else if (rule.id === own) {
    const title = `this session ran it with ${written(head.params)}; its rounds were stored without that line`;
    out.push(el("em", { class: "ds-kind", title }, "at its defaults, not this session's"));
  }
  if (rule.drafts_otherwise && rule.id !== own) {
    const title = "this rule draws its drafts in another way: under it, other tokens would have been drafted";
    out.push(el("em", { class: "ds-kind", title }, "other drafts"));
  }
  if (rule.greedy_only && rule.id !== own) {
    out.push(
      el("em", { class: "ds-kind", title: "exact where both rows are one-hot, at T = 0" }, "T = 0 only"),
    );
  }
  return out;
}

const written = (params) =>
  Object.entries(params)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

function fateGlyphs(accepted, k) {
  const fates = fatesUnder(accepted, k);
  return el(
    "span",
    { role: "img", "aria-label": fates.join(", ") || "nothing drafted" },
    fates.map((fate) => el("span", { class: `ds-fateglyph is-${fate}` }, GLYPHS[fate])),
  );
}

// A bar as long as the distance and the number beside it; a rule without a law of one position says so.
function tvCell(tv, rule) {
  if (tv === null) {
    const why = rule.looks_ahead
      ? "judges whole blocks: its law is no law of one position"
      : "no law in closed form";
    return el("td", { class: "ds-number", title: why }, rule.looks_ahead ? "whole block" : "–");
  }
  return el(
    "td",
    { class: "ds-number ds-tvcell" },
    el("i", { class: "ds-tvbar", style: { width: `${Math.min(46, 92 * tv)}px` } }),
    tv === 0 ? "0" : decimal(tv),
  );
}
