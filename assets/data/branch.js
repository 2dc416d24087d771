// The branch line over the bars: another token for this place, picked from a row or typed, and the session that goes
// on with it. Nothing happens until its button is pressed.

import { button, el, quoted, replace, setText } from "../parts/dom.js";
import { count } from "../parts/format.js";

const TYPING_MS = 200;
const MORE = 16; // tokens that a branch from the very end may add

// Where a token stands in the text at this place: { at }, or { why } it cannot be replaced.
export function branchPlace(session, place) {
  if (!place || !session?.head || session.head.recorded) return null;
  if (place.fate === "untested")
    return {
      why: "This draft was never tested, so what stands before it is not in the text: branch at the rejection.",
    };
  return { at: place.at };
}

// What a branch may have in all: its parent's budget, or a little more where the place is at its end.
export const budgetAt = (head, at) =>
  Math.max(head.max_tokens, at + 1 + (at + 1 >= head.max_tokens ? MORE : 0));

export function branchLine(store, actions) {
  const name = el("span", { class: "ds-branchname" });
  const typed = el("input", {
    class: "ds-input",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "pick a row, or type",
    "aria-label": "Another token here",
  });
  const said = el("span", { class: "ds-hint", role: "status" });
  const found = el("span", { class: "ds-branchtokens" });
  const budget = el("input", { class: "ds-input", type: "number", min: 1, "aria-label": "Tokens in all" });
  const upTo = el("label", { class: "ds-branchbudget" }, "up to", budget, "tokens");
  const root = el("div", { class: "ds-branch", hidden: true }, name, typed, found, upTo, said);
  let here = null; // { session, at }
  let chosen = null; // token id
  let pieces = {};
  let changed = () => {};
  let timer = 0;
  let asked = 0;

  function offer(ids, more = {}) {
    pieces = { ...here.session.pieces, ...more };
    replace(
      found,
      ids.map((id) =>
        button(["Branch here with ", quoted(pieces[id]), ids.length > 1 ? ` #${id}` : null].filter(Boolean), {
          class: "ds-button is-small is-primary",
          title: `Go on from position ${here.at} with token ${id}; this session stays as it is`,
          "data-key": `branch-${id}`,
          onclick: () => go(id),
        }),
      ),
    );
    upTo.hidden = ids.length === 0;
  }

  async function go(id) {
    const { session, at } = here;
    found.querySelectorAll("button").forEach((one) => (one.disabled = true));
    setText(said, "Starting…");
    const child = await actions.branch(session.id, at, `#${id}`, Number(budget.value) || null);
    setText(said, "");
    if (child === null) found.querySelectorAll("button").forEach((one) => (one.disabled = false));
    else clear();
  }

  function clear() {
    clearTimeout(timer);
    asked += 1;
    chosen = null;
    typed.value = "";
    offer([]);
    setText(said, "");
    changed();
  }

  async function look() {
    const turn = (asked += 1);
    const text = typed.value;
    if (!text) return clear();
    chosen = null;
    changed();
    try {
      const answer = await actions.tokens(here.session.id, text);
      if (turn !== asked) return undefined;
      offer(answer.choices, answer.pieces);
      replace(said, saysOf(answer));
    } catch (error) {
      if (turn !== asked) return undefined;
      offer([]);
      setText(said, [error.message, error.hint].filter(Boolean).join(" "));
    }
    return undefined;
  }

  typed.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, TYPING_MS);
  });
  typed.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !typed.value) return;
    event.stopPropagation();
    clear();
  });

  return {
    root,
    onChange: (listener) => (changed = listener),
    chosen: () => chosen,
    // Whether rows can be picked at this place.
    open: () => here !== null && here.at !== undefined,
    pick(id) {
      if (chosen === id) return clear();
      clearTimeout(timer);
      asked += 1;
      chosen = id;
      typed.value = "";
      setText(said, "");
      offer([id]);
      changed();
      return undefined;
    },
    // Moves the line to a place; what was chosen for another one is dropped.
    move(session, place) {
      const spot = actions.branch ? branchPlace(session, place) : null;
      root.hidden = spot === null;
      const next = spot && { session, ...spot };
      const same =
        here && next && here.session.id === next.session.id && here.at === next.at && here.why === next.why;
      here = next;
      if (same || !spot) return;
      clearTimeout(timer);
      asked += 1;
      chosen = null;
      typed.value = "";
      offer([]);
      const open = spot.at !== undefined;
      typed.hidden = !open;
      setText(name, open ? `Another token at ${spot.at}` : "");
      setText(said, spot.why ?? "");
      if (open) budget.value = String(budgetAt(session.head, spot.at));
    },
  };
}

// Why a typed text is no token, with the tokens it takes.
function saysOf({ choices, made_of: made, n, pieces, message, hint }) {
  if (choices.length) return [];
  const shown = made.map((id) => quoted(pieces[id]));
  if (made.length < 2) return [`${message} ${hint}`.trim()];
  return [
    `${count(n, "token")}; a branch takes exactly one: `,
    ...shown.flatMap((one, i) => (i ? [" ", one] : [one])),
    n > made.length ? " …" : "",
  ];
}
