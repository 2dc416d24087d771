// One session's sheet: title, tags and note to write, its settings to use again, and its deletion.

import { exportButtons } from "../data/export_buttons.js";
import { button, el, replace, setText } from "../parts/dom.js";
import { count, when } from "../parts/format.js";
import { isLive } from "../source/store.js";

export function sessionSheet(store, actions) {
  const { list } = actions;
  const heading = el("h2", {});
  const title = el("input", { class: "ds-input", maxlength: 200, autocomplete: "off" });
  const tags = el("input", {
    class: "ds-input",
    autocomplete: "off",
    placeholder: "with commas between them",
  });
  const note = el("textarea", { class: "ds-input", rows: 4, maxlength: 10000 });
  const facts = el("dl", { class: "ds-sheetfacts" });
  const close = () => list.sheet(null);
  const save = el("button", { type: "submit", class: "ds-button is-primary" }, "Save");
  const reuse = button("Use these settings", {
    onclick: () => list.reuse(store.get().sheet),
    title: "Put them into the form above",
  });
  const said = el("span", { class: "ds-hint", role: "status" });
  const exporting = exportButtons(actions, () => store.get().sheet, said);
  const remove = button("Delete", { class: "ds-button is-danger" });
  const form = el(
    "form",
    { method: "dialog" },
    el(
      "header",
      { class: "ds-head" },
      heading,
      el("span", { class: "ds-spring" }),
      button("Close", { onclick: close }),
    ),
    field("Title", title),
    field("Tags", tags),
    field("Note", note),
    facts,
    exporting.root,
    el("div", { class: "ds-sheetactions" }, save, reuse, el("span", { class: "ds-spring" }), remove),
  );
  const sheet = el("dialog", { class: "ds-sheet", "aria-label": "Session" }, form);
  sheet.addEventListener("close", close);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const id = store.get().sheet;
    const saved = await list.change(id, { title: title.value, tags: tags.value, note: note.value });
    if (saved && store.get().sheet === id) close();
  });
  remove.addEventListener("click", () => {
    const id = store.get().sheet;
    close();
    list.remove(id);
  });
  let shown = null;
  return {
    root: sheet,
    render(state) {
      const row = state.sheet === null ? null : list.row(state.sheet);
      if (!row) {
        shown = null;
        if (sheet.open) sheet.close();
        return;
      }
      if (shown !== row.id) {
        shown = row.id;
        setText(heading, `Session #${row.id}`);
        title.value = row.title;
        title.placeholder = row.prompt;
        tags.value = row.tags.join(", ");
        note.value = row.note;
        setText(said, "");
      }
      replace(facts, factsOf(row, state.list));
      exporting.render(row, state.list);
      reuse.hidden = !list.reuse;
      remove.disabled = isLive(row.status);
      remove.title = remove.disabled ? "Stop it first" : "Delete; it can be undone for some seconds";
      if (!sheet.open) sheet.showModal();
    },
  };
}

const field = (name, control) => el("label", { class: "ds-field" }, el("span", {}, name), control);

function factsOf(row, rows) {
  const children = rows.filter((one) => one.parent_id === row.id).length;
  const asked = row.asked && row.asked !== row.rule ? ` (asked for ${row.asked})` : "";
  const params = Object.entries(row.params ?? {}).map(([name, value]) => `${name} ${value}`);
  const entries = [
    ["Prompt", row.prompt || "(empty)"],
    ["Made", when(row.created)],
    ["Status", row.end_reason ? `${row.status}: ${row.end_reason}` : row.status],
    ["Watermark", row.watermark || null],
    ["Rule", [row.rule + asked, ...params].join(", ")],
    ["Models", `${row.drafter} → ${row.target}`],
    [
      "Settings",
      `k ${row.k}, T ${row.temperature}, seed ${row.seed}, at most ${count(row.max_tokens, "token")}`,
    ],
    ["From", row.imported ? `a file, taken in ${when(row.imported)}` : null],
    ["Parent", row.parent_id === null ? null : `#${row.parent_id} (${row.relation ?? "re-run"})`],
    ["Re-runs", children ? `${count(children, "session")}; deleting this one keeps them` : null],
  ];
  return entries
    .filter(([, text]) => text)
    .map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)));
}
