// The card of a token: hovering shows it, a click pins it, Esc takes it away. It never gets in the pointer's way.

import { button, el, replace, tokenText } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { MODES, valueText } from "./modes.js";
import { heldAt, positionAt } from "../time/places.js";

const GAP = 8;

// flow holds the tokens; find(round, pos) gives a token's element.
export function hoverCard(store, flow, find) {
  const pinned = card("is-pinned");
  const hover = card("is-hover");
  let over = null;
  const unpin = button("Unpin", {
    class: "ds-button is-small",
    title: "Unpin (Esc)",
    onclick: () => store.dispatch({ type: "set", values: { pinned: null } }),
  });

  const placeOf = (token) => ({ round: Number(token.dataset.round), pos: Number(token.dataset.pos) });
  flow.addEventListener("pointerover", (event) => {
    const token = event.pointerType === "touch" ? null : event.target.closest(".ds-token");
    if (token) show(hover, (over = token), contents(store.get(), placeOf(token)));
  });
  flow.addEventListener("pointerout", (event) => {
    if (over && !over.contains(event.relatedTarget)) hover.hidden = true;
  });
  flow.addEventListener("click", (event) => {
    const token = event.target.closest(".ds-token");
    if (!token) return;
    hover.hidden = true;
    store.dispatch({ type: "set", values: { pinned: placeOf(token) } });
  });

  function show(node, token, parts) {
    node.hidden = parts === null;
    if (!parts) return;
    replace(node, parts);
    const [at, own] = [token.getBoundingClientRect(), node.getBoundingClientRect()];
    const left = Math.min(Math.max(4, at.left), window.innerWidth - own.width - 4);
    const below = at.bottom + GAP + own.height < window.innerHeight;
    node.style.left = `${left}px`;
    node.style.top = `${below ? at.bottom + GAP : Math.max(4, at.top - own.height - GAP)}px`;
  }

  let drawn = "";
  return {
    roots: [pinned, hover],
    render(state) {
      const place = state.pinned;
      const token = place && state.focus !== null ? find(place.round, place.pos) : null;
      if (!token && drawn === "") return;
      const scroll = token ? flow.parentElement.scrollTop : 0;
      const key = token
        ? `${state.focus}/${place.round}/${place.pos}/${state.options.mode}/${scroll}/${window.innerWidth}/${window.scrollY}`
        : "";
      if (key === drawn) return;
      drawn = key;
      pinned.hidden = !token || !inView(token, flow.parentElement);
      if (!pinned.hidden) show(pinned, token, [contents(state, place), unpin]);
    },
  };
}

function inView(token, scroller) {
  const [at, box] = [token.getBoundingClientRect(), scroller.getBoundingClientRect()];
  return at.bottom > box.top && at.top < box.bottom;
}

const card = (kind) =>
  el("div", { class: `ds-hovercard ${kind}`, hidden: true, role: kind === "is-pinned" ? "note" : "tooltip" });

function contents(state, { round: index, pos }) {
  const session = state.sessions[state.focus];
  const round = session?.rounds[index];
  const place = round && heldAt(round, pos);
  if (!place) return null;
  const drafted = place.x !== undefined;
  const id = drafted ? place.x : place.token;
  const fate = drafted ? place.fate : place.source;
  const { mode } = state.options;
  return [
    el(
      "p",
      { class: "ds-hovertop" },
      el("span", { class: `ds-token is-${fate}` }, tokenText(session.pieces[id], 40)),
      el("b", {}, place.rescued ? "accepted, rescued" : fate),
    ),
    el(
      "dl",
      {},
      pair("token id", id),
      pair("position", positionAt(round, pos)),
      pair("target p", percent(place.p)),
      pair("draft q", place.q === null || place.q === undefined ? "none" : percent(place.q)),
      drafted && place.u !== null && place.accept_prob !== null
        ? pair("coin u", `${decimal(place.u)} against ${decimal(place.accept_prob)}`)
        : null,
      mode === "fate" ? null : pair(MODES[mode].title, valueText(mode, place)),
    ),
  ];
}

const pair = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)));
