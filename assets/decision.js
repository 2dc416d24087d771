// The heart of the screen: why the selected token has its fate. Numbers are the event's own; a coin that is
// dragged elsewhere is answered by hypothesis.js, and badged.

import { isNear, valueOf } from "./breaks.js";
import { el, quoted, replace, tokenText } from "./dom.js";
import { drawnByCoin, explainDraft, explainNext, formula, headline, thresholdName } from "./explain.js";
import { decimal, percent } from "./format.js";
import { canSuppose, suppose, supposedFates } from "./hypothesis.js";
import { residualTable } from "./residual.js";
import { fateKnown, revealed } from "./stages.js";
import { selected } from "./store.js";
import { dart, sliceTrack, threshold } from "./tracks.js";

export function decisionPanel(store, actions) {
  const place = el("p", { class: "ds-place" });
  const json = el(
    "button",
    {
      type: "button",
      class: "ds-button is-small",
      title: "Copy this position as JSON (j)",
      onclick: () => actions.run("json"),
    },
    "JSON",
  );
  const body = el("div", { class: "ds-decision-body" });
  const root = el(
    "section",
    { class: "ds-panel ds-decision", "aria-label": "Decision" },
    el("header", { class: "ds-head" }, el("h2", {}, "Decision"), place, actions.copyJson ? json : null),
    body,
  );
  let drawn = null;
  let parts = null; // { coin, below }: what a drag changes
  let supposed = null;
  const held = (u) => store.dispatch({ type: "suppose", u });

  function build(state, session, round, rule) {
    const seen = revealed(round, state.stage);
    parts = null;
    const pos = state.cursor.pos;
    if (seen.kind === "target" || !shows(round, pos, seen, rule)) {
      return [...early(session, round, pos, seen), ruleLine(rule)];
    }
    const position = round.positions[pos];
    if (!position) return [...nextBody(session, round), ruleLine(rule)];
    parts = {
      coin: coinOf(position, session.head.rule, held),
      below: el("div", { class: "ds-below" }),
      title: el("h3", {}),
    };
    return [parts.title, parts.coin?.root ?? null, parts.below, ruleLine(rule)];
  }

  function fill(state, session, round) {
    const pos = state.cursor.pos;
    const outcome = supposition(state, session, round);
    parts.coin?.hold?.(outcome ? state.suppose : null);
    const seen = revealed(round, state.stage);
    replace(parts.title, titleOf(session, round, pos, outcome, state.breaks));
    replace(
      parts.below,
      outcome ? supposedBody(session, round, pos, outcome, held) : draftBody(session, round, pos, seen),
    );
  }

  return {
    root,
    render(state) {
      const { session, round } = selected(state);
      const ready = round && session.head;
      const rule = ready ? (state.choices?.rules.find((one) => one.id === session.head.rule) ?? null) : null;
      const near = valueOf(state.breaks, "near");
      const key = ready
        ? `${session.id}/${round.i}/${state.cursor.pos}/${state.stage}/${rule?.id}/${near}`
        : "";
      if (key === drawn && state.suppose === supposed) return;
      const fresh = key !== drawn;
      [drawn, supposed] = [key, state.suppose];
      place.textContent = ready
        ? `round ${round.i} · position ${round.start + placeOf(round, state.cursor.pos)}`
        : "";
      json.hidden = !ready;
      if (!ready) {
        parts = null;
        replace(body, el("p", { class: "ds-empty" }, "Select a token to see how it was decided."));
        return;
      }
      if (fresh) replace(body, build(state, session, round, rule));
      if (parts) fill(state, session, round);
    },
  };
}

// A corrected token stands where the rejected draft stood.
const placeOf = (round, pos) => (pos === round.k ? round.accepted : pos);

const words = (session) => (list) =>
  list.map((part) => (typeof part === "string" ? part : quoted(session.pieces[part.token])));

// Whether the stage has come to what the cursor is on.
function shows(round, pos, seen, rule) {
  return pos === round.k ? seen.next : fateKnown(round, pos, seen, rule?.looks_ahead) || pos < seen.coins;
}

// Slow motion, before the test: how the draft was drawn, and what the target's pass brings.
function early(session, round, pos, seen) {
  const say = words(session);
  if (seen.kind === "target") {
    const n = round.k + 1;
    const what = round.k === 0 ? "the next token" : `every draft and the place behind them`;
    return [
      el("h3", {}, "The target reads the drafts"),
      el(
        "p",
        { class: "ds-sentence" },
        `One pass of the target gives ${n === 1 ? "1 row" : `${n} rows`} of probabilities, for ${what}. Nothing is decided yet: each draft now has its p beside its q.`,
      ),
    ];
  }
  const position = round.positions[pos];
  const draw = position.draw;
  return [
    el(
      "h3",
      {},
      say([{ token: position.x }, " is drafted"]),
      el("span", { class: "ds-badge" }, `draft ${pos + 1} of ${round.k}`),
    ),
    el(
      "p",
      { class: "ds-sentence" },
      say([
        `The drafter gives `,
        { token: position.x },
        ` ${percent(position.q)} and `,
        ...howDrawn(draw, session.head.rule),
      ]),
    ),
    sliceTrack(draw, "untested"),
  ];
}

function howDrawn(draw, rule) {
  if (draw.u !== null)
    return [
      `its coin fell at u = ${decimal(draw.u)}, in this token's slice of q. The target has not seen it yet.`,
    ];
  if (rule === "gumbel")
    return ["it won the race: log q plus the noise shared with the target. The target has not seen it yet."];
  return ["no coin was needed to draw it. The target has not seen it yet."];
}

function nextBody(session, round) {
  const rule = session.head.rule;
  const say = words(session);
  return [
    el("h3", {}, say(headline(round, round.k)), badge(round, null)),
    el("p", { class: "ds-sentence" }, say(explainNext(round, rule))),
    ...drawSection(session, round),
  ];
}

// The coin against its threshold, to be dragged where one fell; a threshold alone; or nothing.
function coinOf(position, rule, held) {
  if (position.accept_prob === null) return null;
  const name = thresholdName(position, rule);
  const { accept_prob: against, u, passed } = position;
  if (u !== null) return dart({ threshold: against, u, passed, name, held });
  return { root: threshold(against, passed, name) };
}

function supposition(state, session, round) {
  const position = round.positions[state.cursor.pos];
  if (state.suppose === null || !canSuppose(position, session.head.rule).can) return null;
  return suppose(round, state.cursor.pos, session.head.rule, state.suppose, session.head.params);
}

function titleOf(session, round, pos, outcome, breaks) {
  const position = round.positions[pos];
  const say = words(session);
  if (outcome) {
    const fate = outcome.passed ? "accepted" : "rejected";
    return [
      say(["If the coin had fallen elsewhere"]),
      el("span", { class: "ds-badge is-hypothetical" }, "hypothetical"),
      el("span", { class: `ds-badge is-${fate}` }, fate),
    ];
  }
  const near = position.fate !== "untested" && isNear(position, valueOf(breaks, "near"));
  const gap = near ? decimal(Math.abs(position.u - position.accept_prob)) : "";
  const side = near && position.u < position.accept_prob ? "below" : "above";
  return [
    say(headline(round, pos)),
    badge(round, position),
    near
      ? el(
          "span",
          { class: "ds-badge is-near", title: `u is ${gap} ${side} the threshold` },
          `near miss: ${gap}`,
        )
      : null,
  ];
}

function draftBody(session, round, pos, seen) {
  const position = round.positions[pos];
  const rule = session.head.rule;
  const { why } = canSuppose(position, rule);
  return [
    formulaLine(position, rule),
    el("p", { class: "ds-sentence" }, words(session)(explainDraft(round, pos, rule))),
    why && position.fate !== "untested" ? el("p", { class: "ds-hint" }, why) : null,
    rule === "sampler-match" && position.fate !== "untested" ? sliceTrack(position.own, position.fate) : null,
    facts(session, position),
    ...(position.fate === "rejected" && round.next && seen.next ? replacement(session, round) : []),
  ];
}

function supposedBody(session, round, pos, outcome, held) {
  const fates = supposedFates(round, pos, outcome);
  const say = words(session);
  return [
    el("p", { class: "ds-sentence" }, say(outcome.said)),
    el(
      "p",
      { class: "ds-supposed" },
      fates.map((fate, i) =>
        el(
          "span",
          { class: `ds-token is-${fate ?? "unknown"}`, title: fate ?? "not known" },
          tokenText(session.pieces[round.positions[i].x], 14),
          fate === null ? el("small", {}, " ?") : null,
        ),
      ),
      outcome.next
        ? [
            "→ ",
            el(
              "span",
              { class: `ds-token is-${outcome.n === round.k ? "bonus" : "corrected"}` },
              tokenText(session.pieces[outcome.next.token], 14),
            ),
          ]
        : null,
    ),
    outcome.residual ? supposedResidual(session, outcome.residual) : null,
    el(
      "button",
      { type: "button", class: "ds-button is-small", "data-key": "as-it-fell", onclick: () => held(null) },
      "Put the coin back (Esc)",
    ),
  ];
}

function supposedResidual(session, residual) {
  if (residual.degenerate) return null;
  const rows = residual.top.map(([token, prob]) => ({ token, prob, hit: false }));
  return residualTable(
    session,
    `What would be drawn from, mass Z = ${decimal(residual.mass)}`,
    rows,
    residual.rest,
  );
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
  return [
    el("span", { class: `ds-badge is-${fate}` }, word),
    !position && round.next.residual?.degenerate
      ? el("span", { class: "ds-badge is-near" }, "degenerate")
      : null,
  ];
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
  return el(
    "dl",
    { class: "ds-factlist" },
    fact("target p(x)", percent(position.p)),
    fact("draft q(x)", percent(position.q)),
    fact("p/q", ratio),
    fact("coin u", position.u === null ? "none" : decimal(position.u)),
    fact("TV(p, q)", decimal(position.tv)),
    fact("entropy p", `${decimal(position.entropy[0])} nat`),
    fact("sum min(p, q)", decimal(position.overlap)),
    fact("entropy q", `${decimal(position.entropy[1])} nat`),
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
    next.residual ? drawnResidual(session, next) : null,
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

function drawnResidual(session, next) {
  const { residual } = next;
  const name = residual.degenerate ? "Drawn from p (degenerate residual)" : "Residual";
  const rows = residual.top.map(([token, prob]) => ({ token, prob, hit: token === next.token }));
  return residualTable(session, `${name}, mass Z = ${decimal(residual.mass)}`, rows, residual.rest[0]);
}
