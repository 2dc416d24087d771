// The screen over a recording, for a page of its own. See inspector/standalone/static_page.py.

import { unpacked } from "./source/columns.js";
import { mount } from "./main.js";
import { recordedSource } from "./source/recorded.js";

// large: what inspector/standalone/static_page.py compressed, { rounds, pieces, alike }.
export function open(element, recording, { rounds, pieces, alike }) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = () => document.body.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", colour);
  colour();
  const each = (make) => Object.fromEntries(Object.keys(rounds).map((id) => [id, make(id)]));
  const played = {
    ...recording,
    rounds: each((id) => unpacked(rounds[id])),
    pieces: each((id) => (alike ? pieces : pieces[id])),
  };
  mount(element, recordedSource(played));
}
