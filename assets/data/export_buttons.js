// A session's sheet: its export, with or without what was made from it.

import { button, el } from "../parts/dom.js";
import { isLive } from "../source/store.js";

export function exportButtons({ exportFile }, session, said) {
  const with_ = el("input", { type: "checkbox" });
  const family = el("label", { class: "ds-check" }, with_, "with what was made from it");
  const one = (kind, text, title) =>
    button(text, {
      class: "ds-button is-small",
      title,
      onclick: async () => {
        buttons.forEach((each) => (each.disabled = true));
        const asked = { sessions: [session()], children: with_.checked && !family.hidden, kind };
        await exportFile(asked, (words) => (said.textContent = words));
        buttons.forEach((each) => (each.disabled = false));
      },
    });
  const buttons = [
    one("jsonl", "JSON Lines", "Lossless; an import takes it in again"),
    one("html", "Page", "One HTML file that opens from disk with this screen"),
  ];
  const root = el(
    "div",
    { class: "ds-sheetactions ds-sheetexport" },
    el("span", {}, "Export"),
    buttons,
    family,
    said,
  );
  return {
    root,
    render(row, rows) {
      root.hidden = !exportFile || isLive(row.status) || Boolean(row.recorded);
      family.hidden = !rows.some((other) => other.parent_id === row.id);
    },
  };
}
