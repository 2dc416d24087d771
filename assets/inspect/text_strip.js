// The answer as it was made: every drafted and emitted token, each by its fate, in reading order.
// Rounds are appended once and never rebuilt; a selection changes two classes.

import { givenTokens } from "../data/given.js";
import { breaksLine, percent, spoken } from "../parts/format.js";
import { el, setText, tokenText } from "../parts/dom.js";
import { hoverCard } from "./hover_card.js";
import { levelOf, MODES } from "./modes.js";
import { modeTools } from "./mode_tools.js";
import { heldAt } from "../time/places.js";
import { promptFold } from "./prompt_fold.js";
import { roundAt } from "../source/rounds.js";
import { fateKnown, revealed } from "./stages.js";
import { isLive } from "../source/store.js";

const SHORT_BLOCK = 6;
const LONG_BLOCK = 16;

export function textStrip(store, marks) {
  const prompt = promptFold();
  const given = el("p", { class: "ds-given" });
  const flow = el("div", { class: "ds-flow", role: "group", "aria-label": "Answer, token by token" });
  const empty = el("p", { class: "ds-empty" });
  const welcome = intro();
  const scroller = el("div", { class: "ds-strip" }, prompt.root, given, flow, empty, welcome);
  const drops = el("input", { type: "checkbox", checked: true });
  drops.addEventListener("change", () =>
    store.dispatch({ type: "option", name: "drops", value: drops.checked }),
  );
  const tools = modeTools(store);
  const root = el(
    "section",
    { class: "ds-panel ds-text", "aria-label": "Text" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Text"),
      tools.root,
      el("label", { class: "ds-check" }, drops, "dropped drafts"),
    ),
    scroller,
  );
  let shown = null; // session id
  let built = []; // per round: { group, tokens: Map pos -> element }
  let block = null;
  let blockRounds = 0;
  let current = null;
  let told = null; // the head whose given tokens are shown
  let veiled = []; // tokens that slow motion keeps back
  let lit = []; // tokens that were found
  let litFor = null;
  const find = (round, pos) => built[round]?.tokens.get(pos) ?? null;
  const cards = hoverCard(store, flow, find);
  root.append(...cards.roots);

  flow.addEventListener("click", (event) => {
    const token = event.target.closest(".ds-token");
    if (token)
      store.dispatch({ type: "cursor", round: Number(token.dataset.round), pos: Number(token.dataset.pos) });
  });

  function reset(id) {
    shown = id;
    built = [];
    block = null;
    current = null;
    veiled = [];
    lit = [];
    litFor = null;
    flow.replaceChildren();
  }

  function showGiven(head) {
    if (head === told) return;
    told = head;
    given.replaceChildren(...givenTokens(head));
  }

  // In slow motion the round's later tokens are not there yet, and fates are not known before their test.
  function veil(state, session) {
    veiled.forEach((token) => token.classList.remove("is-unrevealed", "is-undecided"));
    veiled = [];
    const round =
      state.cursor && state.stage !== null ? session && roundAt(session, state.cursor.round) : null;
    if (!round) return;
    const seen = revealed(round, state.stage);
    const ahead = state.choices?.rules.find((rule) => rule.id === session.head?.rule)?.looks_ahead;
    for (const [pos, token] of built[round.i]?.tokens ?? []) {
      const there = pos === round.k ? seen.next : pos < seen.drafts;
      if (there && (pos === round.k || fateKnown(round, pos, seen, ahead))) continue;
      token.classList.add(there ? "is-undecided" : "is-unrevealed");
      veiled.push(token);
    }
  }

  function light(found) {
    if (found === litFor) return;
    litFor = found;
    lit.forEach((token) => token.classList.remove("is-found"));
    lit = found.covered.map(({ round, pos }) => find(round, pos)).filter(Boolean);
    lit.forEach((token) => token.classList.add("is-found"));
  }

  function append(round, pieces) {
    if (!block) {
      block = el("div", { class: "ds-block" });
      blockRounds = 0;
      flow.append(block);
    }
    const tokens = new Map();
    const group = el("span", { class: "ds-round" });
    const add = (pos, id, fate, at, numbers) => {
      const token = tokenButton(round.i, pos, pieces[id], id, fate, at, numbers);
      tokens.set(pos, token);
      group.append(token);
      if (fate !== "rejected" && fate !== "untested" && breaksLine(pieces[id])) group.append(el("br"));
    };
    const draft = (position, pos) => add(pos, position.x, position.fate, position.at, position);
    const tail = round.accepted + 1;
    round.positions.slice(0, tail).forEach(draft);
    if (round.next) add(round.k, round.next.token, round.next.source, round.next.at, heldAt(round, round.k));
    round.positions.slice(tail).forEach((position, i) => draft(position, tail + i));
    block.append(group);
    built.push({ group, tokens });
    blockRounds += 1;
    const ends = group.querySelector("br") !== null;
    if ((ends && blockRounds >= SHORT_BLOCK) || blockRounds >= LONG_BLOCK) block = null;
  }

  function select(cursor) {
    const next = cursor ? built[cursor.round] : null;
    const token = next?.tokens.get(cursor.pos) ?? null;
    if (current?.token === token) return false;
    if (current) {
      current.group.classList.remove("is-current");
      current.token?.removeAttribute("aria-current");
      if (current.token) current.token.tabIndex = -1;
    }
    current = next ? { group: next.group, token } : null;
    if (!current) return false;
    current.group.classList.add("is-current");
    token?.setAttribute("aria-current", "true");
    if (token) token.tabIndex = 0;
    return true;
  }

  function reveal(follow) {
    if (follow) scroller.scrollTop = scroller.scrollHeight;
    else if (current?.token) {
      const box = scroller.getBoundingClientRect();
      const at = current.token.getBoundingClientRect();
      if (at.top < box.top + 4 || at.bottom > box.bottom - 4) {
        scroller.scrollTop += at.top - box.top - box.height / 2;
      }
    }
  }

  return {
    root,
    focusToken: () => current?.token?.focus({ preventScroll: true }),
    render(state) {
      const session = state.sessions[state.focus];
      if ((session?.id ?? null) !== shown) reset(session?.id ?? null);
      flow.classList.toggle("without-drops", !state.options.drops);
      flow.dataset.mode = state.options.mode;
      drops.checked = state.options.drops;
      tools.render(state);
      prompt.render(session?.head ?? null);
      showGiven(session?.head ?? null);
      if (session)
        for (let i = built.length; i < session.rounds.length; i += 1)
          append(session.rounds[i], session.pieces);
      setText(empty, emptyText(session));
      empty.hidden = built.length > 0 || !session;
      welcome.hidden = built.length > 0 || Boolean(session && !isLive(session.status));
      welcome.lastChild.hidden = Boolean(session);
      light(marks.found(state));
      veil(state, session);
      if (select(state.cursor)) reveal(state.follow);
      cards.render(state);
    },
  };
}

function emptyText(session) {
  if (!session) return "";
  if (session.head?.progress) return session.head.progress;
  if (session.n > 0) return "Loading rounds…";
  if (session.status === "not loaded") return "This session was not loaded.";
  return isLive(session.status) ? "Waiting for the first round…" : "This session has no rounds.";
}

// What the first screen says, before any session is open.
function intro() {
  const line = (lead, text) => el("p", {}, el("b", {}, lead), text);
  return el(
    "div",
    { class: "ds-intro" },
    line("Draft. ", "A cheap model proposes k tokens."),
    line("Verify. ", "The target scores all of them in one pass; a coin and a threshold decide each one."),
    line(
      "Refill. ",
      "The first rejected token is replaced by a draw from what the target wants and the draft lacks; if all stand, the target adds one for free.",
    ),
    line("", "Press Run to watch it happen, or open a session from the list. Press ? for the keys."),
  );
}

function tokenButton(round, pos, piece, id, fate, at, numbers) {
  const label = `position ${at}, ${spoken(piece)}, ${fate}, target ${percent(numbers.p)}`;
  const drafted = numbers.q === null || numbers.q === undefined ? "" : `, draft ${percent(numbers.q)}`;
  return el(
    "button",
    {
      type: "button",
      class: `ds-token is-${fate}${numbers.rescued ? " is-rescued" : ""}${levels(numbers)}`,
      tabindex: "-1",
      "data-round": round,
      "data-pos": pos,
      "aria-label": `${label}${drafted}`,
    },
    tokenText(piece),
  );
}

// One class a colour mode, so that changing the mode changes one attribute of the whole text.
function levels(numbers) {
  return Object.keys(MODES)
    .map((mode) => [mode, levelOf(mode, numbers)])
    .filter(([, level]) => level !== null)
    .map(([mode, level]) => ` ${mode}-${level}`)
    .join("");
}
