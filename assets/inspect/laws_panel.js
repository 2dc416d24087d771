// The law meter: the exact law of the token each rule emits at the selected place, against p. Asked for when it
// is looked at; what storage cut from the rows is said beside the numbers it touches.

import { el, numberHead, replace, setText, tableHead, tokenText } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { isGreedy, KINDS, kindOf } from "./matrix.js";
import { revealed } from "./stages.js";
import { selected } from "../source/store.js";

const WAIT_MS = 120;
const KEPT = 60;
const TITLES = { lossless: "Lossless", biased: "Biased", faulty: "Faulty" };

export function lawsPane(store, actions) {
  const note = el("p", { class: "ds-hint" });
  const list = el("div", { class: "ds-lawlist" });
  const detail = el("div", { class: "ds-lawdetail" });
  const root = el("div", { class: "ds-laws" }, note, el("div", { class: "ds-lawgrid" }, list, detail));
  const known = new Map();
  let wanted = "";
  let drawn = "";
  let chosen = null; // the rule whose bars are large

  async function fetchLaws(key, session, round, i) {
    try {
      const laws = await actions.laws(session.id, round.i, i);
      if (known.size >= KEPT) known.delete(known.keys().next().value);
      known.set(key, laws);
    } catch (error) {
      known.set(key, { error: `${error.message} ${error.hint ?? ""}` });
    }
    store.dispatch({ type: "set", values: {} });
  }

  function draw(state, laws, session) {
    const rules = new Map((state.choices?.rules ?? []).map((rule) => [rule.id, rule]));
    const lines = laws.rules.filter((line) => rules.has(line.id));
    const pieces = { ...session.pieces, ...laws.pieces };
    const focus =
      lines.find((line) => line.id === chosen && line.probs) ??
      lines.find((line) => line.id === session.head?.rule && line.probs) ??
      lines.find((line) => line.probs);
    setText(note, noteOf(laws));
    const pick = (id) => {
      chosen = id;
      drawn = "";
      store.dispatch({ type: "set", values: {} });
    };
    replace(
      list,
      lawTable(lines, laws, rules, {
        own: session.head?.rule,
        focus: focus?.id,
        pick,
        greedy: isGreedy(session.head),
      }),
    );
    replace(detail, focus ? lawBars(focus, laws, pieces, rules.get(focus.id)) : []);
  }

  return {
    tools: el("div", {}),
    root,
    render(state, visible) {
      if (!visible) return;
      const { session, round } = selected(state);
      const i = state.cursor.pos === round.k ? round.accepted : state.cursor.pos;
      const said = absent(round, i, actions, revealed(round, state.stage));
      const key = said ? `none/${said}` : `${session.id}/${round.i}/${i}`;
      const laws = known.get(key);
      const shown = `${key}/${laws ? 1 : 0}/${session.head?.rule}/${state.choices?.rules.length}/${chosen}`;
      if (shown === drawn) return;
      drawn = shown;
      root.setAttribute("aria-busy", String(!said && !laws));
      if (said || laws?.error) {
        setText(note, said || laws.error);
        replace(list, []);
        replace(detail, []);
      } else if (laws) draw(state, laws, session);
      else if (wanted !== key) {
        wanted = key;
        setText(note, "Computing the laws of this place…");
        setTimeout(() => wanted === key && fetchLaws(key, session, round, i), WAIT_MS);
      }
    },
  };
}

function absent(round, i, actions, seen) {
  if (!seen.target) return "Shown after the target's pass: before it there is no p.";
  if (i >= round.k)
    return "Nothing was drafted here, so there is no draft to judge: the token is a draw from p (or its argmax).";
  return actions.laws ? "" : "A recording holds no laws: open the session in a running Draftscope.";
}

function noteOf({ missing }) {
  const exact = "What each rule emits at this place, over all drafts and coins.";
  if (missing === 0) return `${exact} Exact: the stored rows are whole.`;
  return `${exact} Approximate where marked ≈: storage cut ${percent(missing)} of the rows' mass, and a number may be off by as much.`;
}

const HEADS = ["rule", "law against p", "TV to p", "acceptance"];

function lawTable(lines, laws, rules, { own, focus, pick, greedy }) {
  return el(
    "table",
    { class: "ds-table ds-lawtable" },
    tableHead(HEADS),
    KINDS.map((kind) => {
      const rows = lines.filter((line) => kindOf(rules.get(line.id), greedy) === kind);
      if (rows.length === 0) return null;
      return el(
        "tbody",
        { class: `is-${kind}` },
        el(
          "tr",
          { class: "ds-matrixkind" },
          el("th", { colspan: HEADS.length, scope: "rowgroup" }, TITLES[kind]),
        ),
        rows.map((line) => lawRow(line, laws, rules.get(line.id), line.id === own, line.id === focus, pick)),
      );
    }),
  );
}

function lawRow(line, laws, rule, isOwn, isFocus, pick) {
  const name = el(
    "button",
    {
      type: "button",
      class: "ds-lawname",
      title: rule.meaning,
      disabled: !line.probs,
      "aria-pressed": String(isFocus),
      "data-key": `law-${line.id}`,
      onclick: () => pick(line.id),
    },
    line.id,
  );
  const head = el(
    "th",
    { scope: "row" },
    name,
    isOwn ? el("em", { class: "ds-kind is-good" }, "this session") : null,
  );
  if (!line.probs)
    return el(
      "tr",
      { "data-rule": line.id },
      head,
      el(
        "td",
        { colspan: 3, class: "ds-why", title: line.why },
        rule.looks_ahead ? "judges whole blocks" : line.why,
      ),
    );
  const about = line.exact ? "" : "≈ ";
  return el(
    "tr",
    { class: isFocus ? "is-own" : null, "data-rule": line.id, onclick: () => pick(line.id) },
    head,
    el("td", {}, spark(line, laws)),
    el("td", { class: "ds-number" }, line.tv < 1e-9 ? "0" : `${about}${decimal(line.tv)}`),
    el("td", { class: "ds-number", title: rule.closed_form ?? null }, `${about}${percent(line.acceptance)}`),
  );
}

// One column a token: the law filled, p as a line across it.
function spark(line, laws) {
  const top = Math.max(...laws.p, ...line.probs, 0.01);
  const height = (value) => `${Math.max(value > 0 ? 4 : 0, (100 * value) / top)}%`;
  return el(
    "span",
    { class: "ds-spark", role: "img", "aria-label": `TV to p ${decimal(line.tv)}` },
    line.probs.map((value, i) =>
      el(
        "i",
        {},
        el("b", {
          class: value > laws.p[i] + 1e-9 ? "is-more" : value < laws.p[i] - 1e-9 ? "is-less" : null,
          style: { height: height(value) },
        }),
        laws.p[i] > 0 ? el("u", { style: { bottom: height(laws.p[i]) } }) : null,
      ),
    ),
  );
}

function lawBars(line, laws, pieces, rule) {
  const top = Math.max(...laws.p, ...line.probs);
  const width = (value) => `${((100 * value) / top).toFixed(2)}%`;
  return el(
    "table",
    { class: "ds-pqtable ds-lawbars" },
    el(
      "caption",
      {},
      el("b", {}, rule.title),
      line.tv < 1e-9 ? ": its law is p" : `: TV ${decimal(line.tv)} from p`,
    ),
    tableHead([
      "token",
      [el("span", { class: "ds-sr" }, "bar"), { class: "ds-axis" }],
      numberHead("law"),
      numberHead("p"),
    ]),
    el(
      "tbody",
      {},
      laws.tokens.map((token, i) => {
        const [o, p] = [line.probs[i], laws.p[i]];
        const excess = o > p ? "ds-only-q" : "ds-only-p";
        return el(
          "tr",
          { title: `id ${token}: law ${percent(o)}, p ${percent(p)}` },
          el("th", { scope: "row" }, tokenText(pieces[token], 12)),
          el(
            "td",
            { class: "ds-bar-cell" },
            el(
              "div",
              { class: "ds-bar" },
              el("i", { class: "ds-shared", style: { width: width(Math.min(o, p)) } }),
              Math.abs(o - p) > 1e-9
                ? el("i", {
                    class: excess,
                    style: { left: width(Math.min(o, p)), width: width(Math.abs(o - p)) },
                  })
                : null,
              p > 0 ? el("i", { class: "ds-outline", style: { width: width(p) } }) : null,
            ),
          ),
          el("td", { class: "ds-number" }, percent(o)),
          el("td", { class: "ds-number is-q" }, percent(p)),
        );
      }),
    ),
  );
}
