// Why two lanes part: both decisions at the first position where their tokens differ, and a sentence built
// from the stored numbers. Pure. A sentence is a list of strings and { token }, as in explain.js.

import { drawnByCoin, origin, thresholdName } from "../inspect/explain.js";
import { decimal } from "../parts/format.js";
import { placeAt } from "../time/places.js";

// What a lane did at an output position: { rule, round, pos, token, fate, draft, draw }, or null where it has
// no round there (a branch's given tokens). `draft` is the draft that stood there, `draw` the draw of what it
// emitted where that was no draft.
function decisionAt(session, at) {
  const place = placeAt(session, at);
  if (!place) return null;
  const round = session.rounds[place.round];
  const rule = session.head.rule;
  const position = round.positions[at - round.start] ?? null;
  const kept = place.pos < round.k;
  return {
    rule,
    round,
    pos: place.pos,
    token: kept ? position.x : round.next.token,
    fate: kept ? "accepted" : round.next.source,
    draft: position && tested(position, rule),
    draw: kept ? null : drawn(round, rule),
  };
}

function tested(position, rule) {
  const { x, p, q, u, accept_prob: threshold, passed, fate, attempt, own } = position;
  const coin = u !== null && threshold !== null;
  const name = coin ? thresholdName(position, rule) : "";
  return { x, p, q, u, threshold, passed, fate, attempt, own, coin, name, drawU: position.draw.u };
}

function drawn(round, rule) {
  const { next } = round;
  const byCoin = drawnByCoin(next, rule);
  return {
    token: next.token,
    u: byCoin ? next.draw.u : null,
    slice: byCoin ? next.draw.slice : null,
    from: origin(round, rule),
  };
}

// { at, sides: [baseline, lane], kind, sameDraft, sameCoin, rows, sentence }; null where a lane has no decision
// there. `kind` is coin, draw, drafts, rounds or rows; `rows` says why p differs, "" where it does not.
export function whyTheyPart(baseline, lane, at) {
  const sides = [decisionAt(baseline, at), decisionAt(lane, at)];
  if (sides.includes(null)) return null;
  const [a, b] = sides;
  const both = a.draft !== null && b.draft !== null;
  const sameDraft = both && a.draft.x === b.draft.x;
  const sameCoin = sameDraft && a.draft.coin && b.draft.coin && a.draft.u === b.draft.u;
  const rowsApart = both && apart(a.draft, b.draft);
  const kind = kindOf(sides, both, sameDraft);
  const heads = [baseline.head, lane.head];
  return {
    at,
    sides,
    kind,
    sameDraft,
    sameCoin,
    rows: rowsApart > 0 ? rowsWords(rowsApart, heads) : "",
    sentence: SENTENCES[kind](sides, at, heads, sameCoin),
  };
}

function kindOf([a, b], both, sameDraft) {
  if (!both) return a.draft || b.draft ? "rounds" : "rows";
  if (!sameDraft) return "drafts";
  return a.fate === "accepted" || b.fate === "accepted" ? "coin" : "draw";
}

// How far p of the same draft is apart in the two lanes. They agree up to here, so it should be 0.
const apart = (a, b) => (a.p === null || b.p === null || a.x !== b.x ? 0 : Math.abs(a.p - b.p));

// More than passes of other widths move a probability in float32.
const ROUNDING = 1e-3;

function rowsWords(rowsApart, heads) {
  const faulty = heads.find(({ fault }) => fault);
  const rounding = "rounding, where the models read the same tokens in passes of other widths";
  const other =
    "more than rounding makes in float32. Weights of fewer bits, another machine, another version of a library, or a bug";
  const why = faulty?.watermark ?? (rowsApart < ROUNDING ? rounding : other);
  return `p of the draft differs by ${decimal(rowsApart)} between the lanes: ${why}.`;
}

const SENTENCES = { coin: byCoin, draw: byDraw, drafts: byDrafts, rounds: byRounds, rows: byRows };

function byCoin([a, b], at, heads, sameCoin) {
  return [
    ...sameDraftWords(a, at),
    coinWords(a, b, heads, sameCoin),
    ...verdict(a, "the baseline", sameCoin),
    " ",
    ...verdict(b, "the lane", sameCoin),
  ];
}

function coinWords(a, b, heads, sameCoin) {
  if (sameCoin) return `, and the same coin fell at u = ${decimal(a.draft.u)}. `;
  const why = a.draft.coin && b.draft.coin ? otherCoins(a, b, heads) : "";
  return why ? `, but on other coins: ${why}. ` : ". ";
}

function byDraw([a, b], at, heads, sameCoin) {
  const coin = sameCoin
    ? `, and the same coin, u = ${decimal(a.draft.u)}, rejects it in both`
    : ", and both reject it";
  return [...sameDraftWords(a, at), `${coin}. What takes its place differs: `, ...draws(a, b)];
}

function byDrafts([a, b], at, heads) {
  return [
    `The drafts at position ${at} differ already: the baseline drafted `,
    { token: a.draft.x },
    ", the lane ",
    { token: b.draft.x },
    `, because ${draftsReason(a, b, heads)}. `,
    ...became(a, "the baseline"),
    " ",
    ...became(b, "the lane"),
  ];
}

function draftsReason(a, b, [base, lane]) {
  if (base.drafter !== lane.drafter) return `${lane.drafter} drafts here in place of ${base.drafter}`;
  const coins = otherCoins(a, b, [base, lane]);
  if (coins) return coins;
  if (a.rule === b.rule) return "their rows q differ";
  if (a.draft.drawU === b.draft.drawU && a.draft.drawU !== null)
    return `their rows q differ, so the same coin (u = ${decimal(a.draft.drawU)}) draws another token`;
  return "the two rules draw their drafts in different ways";
}

// Why the coins of one position are others in the two lanes; "" where they are the same.
function otherCoins(a, b, [base, lane]) {
  if (base.seed !== lane.seed)
    return `the lanes have different seeds (${base.seed} and ${lane.seed}), so every coin is another`;
  if (a.draft.attempt === b.draft.attempt) return "";
  const [first, second] = [a, b].map(({ draft }) => draft.attempt + 1);
  return `this is attempt ${first} at the position in the baseline and attempt ${second} in the lane, and each attempt has a coin of its own`;
}

function byRounds([a, b], at) {
  const [drafted, other] = a.draft ? [a, b] : [b, a];
  const [who, whom] = a.draft ? ["the baseline", "the lane"] : ["the lane", "the baseline"];
  return [
    `The rounds fall differently at position ${at}: ${who} had a draft there, `,
    { token: drafted.draft.x },
    `; in ${whom} it came ${other.round.k ? "behind the last draft of a round" : "from a plain step of the target"}, where `,
    { token: other.token },
    ` stands, ${drawWords(other.draw)}. `,
    ...became(drafted, who),
  ];
}

function byRows([a, b], at) {
  return [`Neither lane had a draft at position ${at}. `, ...draws(a, b)];
}

const sameDraftWords = (a, at) => ["Both lanes drafted ", { token: a.draft.x }, ` at position ${at}`];

// "stochastic keeps it below p/q = 0.65: it stands."
function verdict(side, who, sameCoin) {
  const { draft, rule, fate } = side;
  const kept = fate === "accepted";
  return [
    ...test(draft, rule, who, kept, sameCoin),
    ...(kept ? [] : [" In its place ", { token: side.token }, ` stands, ${drawWords(side.draw)}.`]),
  ];
}

function test(draft, rule, who, kept, sameCoin) {
  const name = `${rule} (${who})`;
  if (!draft.coin) return withoutCoin(draft, name, kept);
  const coin = sameCoin ? "" : ` Its coin fell at u = ${decimal(draft.u)}:`;
  const limit = `${draft.name} = ${decimal(draft.threshold)}`;
  if (draft.passed === kept) {
    const words = kept ? "so it stands." : "so it falls.";
    return [`${coin}${coin ? " " : ""}${name} keeps it ${kept ? "" : "only "}below ${limit}, ${words}`];
  }
  return [
    `${coin}${coin ? " " : ""}${name} tests it against ${limit}, which it ${draft.passed ? "passes" : "misses"}; what stands behind it decides: it ${kept ? "stands" : "falls"}.`,
  ];
}

function withoutCoin(draft, name, kept) {
  if (draft.own.token === draft.x && kept)
    return [`${name} tosses no coin: the target's own draw here is the same token, so it stands.`];
  if (draft.own.token !== draft.x && !kept)
    return [
      `${name} tosses no coin: the target's own draw here is `,
      { token: draft.own.token },
      ", so it falls.",
    ];
  return [`${name} tosses no coin and ${kept ? "keeps it" : "drops it"}.`];
}

const drawWords = (draw) => (draw.u === null ? draw.from : `${draw.from}, by u = ${decimal(draw.u)}`);

function draws(a, b) {
  return [
    `${a.rule} (the baseline) puts `,
    { token: a.token },
    ` there, ${drawWords(a.draw)}; ${b.rule} (the lane) `,
    { token: b.token },
    `, ${drawWords(b.draw)}.`,
  ];
}

function became(side, who) {
  if (side.fate === "accepted") return [`${cap(who)} kept its draft.`];
  return [`${cap(who)} dropped it for `, { token: side.token }, `, ${drawWords(side.draw)}.`];
}

const cap = (text) => text[0].toUpperCase() + text.slice(1);
