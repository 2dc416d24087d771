// In the app the engine is asked, once the reader has let go, whether it computes the same law as this page.

import { el, setText } from "../parts/dom.js";
import { decimal } from "../parts/format.js";
import { paramsOf } from "./state.js";

const PAUSE_MS = 500;
// Sums of some thousand terms of rounding 1e-16 agree far below this.
const AGREES = 1e-12;

export function agreement(lab) {
  const root = el("p", { class: "ds-lab-engine", role: "status" });
  let timer = 0;
  let asked = "";
  return {
    root,
    render(state, law) {
      if (!lab.check) return;
      const { p, q, k, rule } = state;
      const question = { p, q, k, rule, params: paramsOf(lab.meta(), state.params) };
      const key = JSON.stringify(question);
      if (key === asked) return;
      asked = key;
      clearTimeout(timer);
      setText(root, "");
      root.classList.remove("is-off");
      timer = setTimeout(async () => {
        const said = await answer(lab, question, law);
        if (asked !== key) return;
        setText(root, said.text);
        root.classList.toggle("is-off", said.off);
      }, PAUSE_MS);
    },
  };
}

async function answer(lab, question, law) {
  try {
    return compared(await lab.check(question), law);
  } catch (error) {
    return { text: `The engine could not be asked: ${error.message}`, off: false };
  }
}

// What a reader is told of the engine's answer beside the page's law.
export function compared({ singles, pairs, acceptance = null, why }, law) {
  if (!singles) return { text: `The engine was not asked: ${why}.`, off: false };
  const gaps = [
    ...singles.map((value, i) => Math.abs(value - law.singles[i])),
    ...(pairs ?? []).flatMap((row, a) => row.map((value, b) => Math.abs(value - law.pairs[a][b]))),
  ];
  if (acceptance !== null) gaps.push(Math.abs(acceptance - law.acceptance));
  const gap = Math.max(...gaps);
  if (gap > AGREES)
    return {
      text: `The engine says something else: up to ${decimal(gap)} apart. Please report this.`,
      off: true,
    };
  const how = gap === 0 ? "to the last bit" : `to ${decimal(Math.max(gap, 1e-16))}`;
  return {
    text: `The engine agrees, ${how}${pairs ? "" : " (single tokens; for pairs, " + why + ")"}.`,
    off: false,
  };
}
