// The clipboard, and a button that fills it.

import { button, setText } from "../parts/dom.js";

// What to say of it: browsers keep it closed on pages that are not served securely.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    return "The browser keeps its clipboard closed";
  }
}

export function copier(text) {
  const one = button("Copy", {
    class: "ds-button is-small is-quiet",
    "aria-label": `Copy ${text}`,
    onclick: async () => {
      setText(one, await copied(text));
      setTimeout(() => setText(one, "Copy"), 1500);
    },
  });
  return one;
}
