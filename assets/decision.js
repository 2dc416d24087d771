// The heart of the screen: why the selected token has its fate. Numbers are the event's own.

import { el, quoted, replace, tokenText } from "./dom.js";
import { drawnByCoin, explainDraft, explainNext, formula, headline, thresholdName } from "./explain.js";
import { decimal, percent } from "./format.js";
import { selected } from "./store.js";
import { dart, sliceTrack } from "./tracks.js";

export function decisionPanel() {
  const place = el("p", { class: "ds-place" });
  const body = el("div", { class: "ds-decision-body" });
  const root = el(
    "section",
    { class: "ds-panel ds-decision", "aria-label": "Decision" },
    el("header", { class: "ds-head" }, el("h2", {}, "Decision"), place),
    body,
  );
  let drawn = null;
  return {
    root,
    render(state) {
      const { session, round } = selected(state);
      const ready = round && session.head;
      const rule = ready ? (state.choices?.rules.find((one) => one.id === session.head.rule) ?? null) : null;
      const key = ready ? `${session.id}/${round.i}/${state.cursor.pos}/${rule?.id}` : "";
      if (key === drawn) return;
      drawn = key;
      place.textContent = ready
        ? `round ${round.i} · position ${round.start + placeOf(round, state.cursor.pos)}`
        : "";
      if (!ready) {
        replace(body, el("p", { class: "ds-empty" }, "Select a token to see how it was decided."));
        return;
      }
      replace(body, bodyOf(session, round, state.cursor.pos), ruleLine(rule));
    },
  };
}

// A corrected token stands where the rejected draft stood.
const placeOf = (round, pos) => (pos === round.k ? round.accepted : pos);

function bodyOf(session, round, pos) {
  const rule = session.head.rule;
  const position = round.positions[pos];
  const say = (list) =>
    list.map((part) => (typeof part === "string" ? part : quoted(session.pieces[part.token])));
  const title = el("h3", {}, say(headline(round, pos)), badge(round, position));
  if (!position)
    return [
      title,
      el("p", { class: "ds-sentence" }, say(explainNext(round, rule))),
      ...drawSection(session, round),
    ];
  return [
    title,
    position.accept_prob !== null && position.u !== null
      ? dart(position.accept_prob, position.u, position.passed, thresholdName(position, rule))
      : null,
    formulaLine(position, rule),
    el("p", { class: "ds-sentence" }, say(explainDraft(round, pos, rule))),
    facts(session, position),
    ...(position.fate === "rejected" && round.next ? replacement(session, round) : []),
  ];
}

// The rule that decided, in its own letters.
function ruleLine(rule) {
  return (
    rule && el("p", { class: "ds-ruleline" }, el("b", {}, rule.title), " ", el("code", {}, rule.formula))
  );
}

function badge(round, position) {
  const fate = position ? position.fate : round.next.source;
  const word = position?.rescued ? "accepted · rescued" : round.k === 0 ? "target step" : fate;
  return el("span", { class: `ds-badge is-${fate}` }, word);
}

function formulaLine(position, rule) {
  const text = formula(position, rule);
  return text ? el("p", { class: "ds-formula" }, text) : null;
}

function fact(name, ...value) {
  return el("div", { class: "ds-fact" }, el("dt", {}, name), el("dd", {}, value));
}

function facts(session, position) {
  const ratio = position.p !== null && position.q ? decimal(position.p / position.q) : "–";
  const own = position.own;
  return el(
    "dl",
    { class: "ds-factlist" },
    fact("target p(x)", percent(position.p)),
    fact("draft q(x)", percent(position.q)),
    fact("p/q", ratio),
    fact("coin u", position.u === null ? "none" : decimal(position.u)),
    fact("TV(p, q)", decimal(position.tv)),
    fact("entropy p", `${decimal(position.entropy[0])} nat`),
    fact("entropy q", `${decimal(position.entropy[1])} nat`),
    fact("sum min(p, q)", decimal(position.overlap)),
    ownDraw(session, position),
  );
}

// What plain sampling would have written here, at the same coin address under every rule.
function ownDraw(session, { own, x, rescued }) {
  const word = own.token === x ? "the same token" : rescued ? "another token: rescued" : "another token";
  const drawn = own.u === null ? "" : ` u = ${decimal(own.u)}`;
  const row = fact(
    "target's own draw",
    el("small", {}, `${word}${drawn} `),
    tokenText(session.pieces[own.token], 14),
  );
  row.classList.add("is-wide");
  return row;
}

// Under a rejected draft: what took its place, with the residual it came from.
function replacement(session, round) {
  return [
    el("h4", {}, "Replaced by ", quoted(session.pieces[round.next.token])),
    ...drawSection(session, round),
  ];
}

function drawSection(session, round) {
  const { next } = round;
  return [
    drawnByCoin(next, session.head.rule) ? sliceTrack(next.draw, next.source) : null,
    next.residual ? residualBars(session, next) : null,
    round.accepted === round.k && next.entropy ? bonusFacts(session, next) : null,
  ];
}

function bonusFacts(session, next) {
  return el(
    "dl",
    { class: "ds-factlist" },
    fact("target p", percent(next.p)),
    fact("coin u", next.draw.u === null ? "none" : decimal(next.draw.u)),
    fact("target's own draw", tokenText(session.pieces[next.own.token], 14)),
    fact("entropy p", `${decimal(next.entropy[0])} nat`),
  );
}

function residualBars(session, next) {
  const { residual } = next;
  const name = residual.degenerate ? "Drawn from p (degenerate residual)" : "Residual";
  const largest = Math.max(...residual.top.map((bar) => bar[1]), residual.rest[0]);
  const row = (name, prob, hit) =>
    el(
      "tr",
      { class: hit ? "is-hit" : null },
      el("th", { scope: "row" }, name),
      el(
        "td",
        { class: "ds-bar-cell" },
        el("div", { class: "ds-residual-bar", style: { width: `${(100 * prob) / largest}%` } }),
      ),
      el("td", { class: "ds-number" }, percent(prob)),
    );
  const shown = residual.top.slice(0, 6);
  if (!shown.some(([token]) => token === next.token))
    shown.push(...residual.top.filter(([token]) => token === next.token));
  const hidden = residual.top.filter((bar) => !shown.includes(bar));
  const rest = hidden.reduce((sum, bar) => sum + bar[1], residual.rest[0]);
  const others = hidden.length + residual.rest[1];
  return el(
    "table",
    { class: "ds-residual" },
    el("caption", {}, `${name}, mass Z = ${decimal(residual.mass)}`),
    el(
      "tbody",
      {},
      shown.map(([token, prob]) => row(tokenText(session.pieces[token], 14), prob, token === next.token)),
      others > 0 ? row(`${others} more`, rest, false) : null,
    ),
  );
}
