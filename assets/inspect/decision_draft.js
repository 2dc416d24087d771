// A draft's decision: its title, its coin against the threshold, the sentence and the facts.

import { isNear, valueOf } from "../time/breaks.js";
import { logText, replacement } from "./decision_next.js";
import { badge, fact, words } from "./decision_words.js";
import { el, tokenText } from "../parts/dom.js";
import { explainDraft, formula, headline, thresholdName } from "./explain.js";
import { decimal, percent } from "../parts/format.js";
import { canSuppose } from "./hypothesis.js";
import { dart, sliceTrack, threshold } from "../parts/tracks.js";

// The coin against its threshold, to be dragged where one fell; a threshold alone; or nothing.
export function coinOf(position, rule, held) {
  if (position.accept_prob === null) return null;
  const name = thresholdName(position, rule);
  const { accept_prob: against, u, passed } = position;
  if (u !== null) return dart({ threshold: against, u, passed, name, held });
  return { root: threshold(against, passed, name) };
}

export function titleOf(session, round, pos, outcome, breaks) {
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

export function draftBody(session, round, pos, seen) {
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

function formulaLine(position, rule) {
  const text = formula(position, rule);
  return text ? el("p", { class: "ds-formula" }, text) : null;
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
    position.fate === "accepted" ? fact("ln p(x)", logText(position.logprob)) : null,
    ownDraw(session, position),
  );
}

// What plain sampling would have written here, at the same coin address under every rule.
function ownDraw(session, { own, x, rescued }) {
  const word = own.token === x ? "the same token" : rescued ? "another token: rescued" : "another token";
  const drawn = own.u === null ? "" : ` u = ${decimal(own.u)}`;
  const text = [el("small", {}, `${word}${drawn} `), tokenText(session.pieces[own.token], 14)];
  return fact("target's own draw", text, "is-wide");
}
