// Short words at the foot of the screen: what was done, with its way back; and models that load meanwhile.
// They lie over the page, so that nothing moves when they come and go.

import { button, el, setText } from "./dom.js";

export function toast(store, { list }) {
  const words = el("span", {});
  const undo = button("Undo", {
    class: "ds-button is-small",
    onclick: () => list.restore(store.get().toast.undo),
  });
  const close = button("Dismiss", { class: "ds-button is-small is-quiet", onclick: list.forget });
  const box = el("div", { class: "ds-toast", hidden: true }, words, undo, close);
  const root = el("div", { class: "ds-toasts", role: "status" }, box);
  return {
    root,
    render({ toast: now }) {
      box.hidden = !now;
      if (!now) return;
      setText(words, now.text);
      undo.hidden = now.undo === undefined;
    },
  };
}

const SHARE = /\((\d+)%\)$/;

// How far the models are that load while the screen is already there.
export function warmingChip(store) {
  const words = el("span", {});
  const bar = el("progress", { class: "ds-progress", max: 100, "aria-label": "Loading models" });
  const close = button("×", {
    class: "ds-button is-small is-quiet",
    "aria-label": "Hide",
    onclick: () => store.dispatch({ type: "set", values: { warmingHidden: true } }),
  });
  const root = el("div", { class: "ds-warming", hidden: true }, words, bar, close);
  return {
    root,
    render({ warming, warmingHidden }) {
      root.hidden = !warming || Boolean(warmingHidden);
      if (root.hidden) return;
      setText(words, warming.replace(SHARE, ""));
      const share = SHARE.exec(warming);
      if (share) bar.value = Number(share[1]);
      else bar.removeAttribute("value");
    },
  };
}
