// Files out and in. An export is of the session on view, of the lanes beside it, or of all that was made from it; an
// import is checked to the last number before anything is stored, and what is wrong with a file is said here.

import { button, el, replace, setText } from "../parts/dom.js";
import { bytes } from "../parts/format.js";
import { isSession, judgedOf } from "../compare/lane.js";

export function sharePanel(store, actions) {
  const what = el("select", { class: "ds-select", "aria-label": "What to export" });
  const said = el("span", { class: "ds-hint", role: "status" });
  const download = (kind, label, title) =>
    button(label, { class: "ds-button", title, onclick: () => go(kind), "data-kind": kind });
  const buttons = [
    download("jsonl", "JSON Lines", "Lossless; `import` takes it in again"),
    download("html", "Page", "One HTML file that opens from disk with this screen, without a server"),
  ];
  const out = el("div", { class: "ds-actions" }, el("span", {}, "Export"), what, "as", buttons, said);
  const file = el("input", { type: "file", accept: ".jsonl,.json,.txt", class: "ds-sr", tabindex: "-1" });
  const progress = el("span", { class: "ds-hint", role: "status" });
  const choose = button("Choose a file", { onclick: () => file.click() });
  const zone = el(
    "div",
    { class: "ds-drop", role: "group", "aria-label": "Import" },
    el("span", {}, "Import: drop a JSON Lines file here, or"),
    choose,
    file,
    progress,
  );
  const result = el("div", { class: "ds-importresult" });
  const root = el(
    "section",
    { class: "ds-panel ds-share", "aria-label": "Export and import" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Export and import"),
      el("p", { class: "ds-facts" }, "whole sessions, to the last bit"),
    ),
    out,
    zone,
    result,
  );
  let most = 0;
  let busy = false;
  let offered = null;

  async function go(kind) {
    const asked = { ...JSON.parse(what.value), kind };
    working(true);
    await actions.exportFile(asked, (text) => setText(said, text));
    working(false);
  }

  async function take(chosen) {
    if (busy || !chosen) return;
    working(true);
    replace(result);
    try {
      const ids = await actions.importFile(chosen, most, (text) => setText(progress, text));
      setText(progress, "");
      replace(result, imported(chosen.name, ids, actions.inspect));
    } catch (error) {
      setText(progress, "");
      replace(result, refused(chosen.name, error));
    }
    working(false);
  }

  function working(on) {
    busy = on;
    [...buttons, choose, what].forEach(
      (one) => (one.disabled = on || (one !== choose && what.options.length === 0)),
    );
  }

  file.addEventListener("change", () => {
    const [chosen] = file.files;
    take(chosen).finally(() => (file.value = ""));
  });
  const over = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("is-over", on);
  };
  root.addEventListener("dragover", over(true));
  root.addEventListener("dragleave", over(false));
  root.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length > 1)
      replace(result, refused("", new Error("Several files were dropped; drop one at a time.")));
    else take(event.dataTransfer.files[0]);
  });

  return {
    root,
    know: (answer) => {
      most = answer.limits.file;
      zone.title = `A file of ${bytes(most)} at most; the command line takes larger ones`;
    },
    render(state) {
      const choices = exportChoices(state);
      const key = JSON.stringify(choices);
      if (key === offered) return;
      offered = key;
      const kept = what.value;
      replace(
        what,
        choices.map(([value, text]) => el("option", { value: JSON.stringify(value) }, text)),
      );
      if (choices.some(([value]) => JSON.stringify(value) === kept)) what.value = kept;
      out.hidden = choices.length === 0;
      working(busy);
    },
  };
}

// What there is to export: [{ sessions, children, lanes }, words]. A recorded session is not in the database. `lanes`
// are for a page: a re-judged lane is no session, and JSON Lines leave it out.
export function exportChoices({ focus, lanes, sessions }) {
  const own = (id) => isSession(id) && !sessions[id]?.head?.recorded && id > 0;
  if (!own(focus)) return [];
  const judged = (id) => !isSession(id) && own(judgedOf(id)?.session);
  const beside = lanes.filter((id) => own(id) || judged(id));
  const asked = beside.map((id) => (isSession(id) ? id : { id, ...judgedOf(id) }));
  return [
    [{ sessions: [focus], children: false }, `session #${focus}`],
    beside.length > 1
      ? [
          { sessions: beside.filter(isSession), children: false, lanes: asked },
          `the ${beside.length} lanes of Compare: ${beside.map(laneWords).join(", ")}`,
        ]
      : null,
    [{ sessions: [focus], children: true }, `session #${focus} and all that was made from it`],
  ].filter(Boolean);
}

const laneWords = (id) => (isSession(id) ? `#${id}` : `${judgedOf(id).rule} re-judged`);

function imported(name, ids, open) {
  return el(
    "p",
    { role: "status" },
    `${name} is in: `,
    ids
      .slice(0, 12)
      .flatMap((id, i) => [
        i ? ", " : "",
        button(`#${id}`, { class: "ds-link", "data-key": `imported-${id}`, onclick: () => open(id) }),
      ]),
    ids.length > 12 ? ` and ${ids.length - 12} more` : "",
    ids.length > 1 ? ". They carry the label “imported”." : ". It carries the label “imported”.",
  );
}

const refused = (name, error) =>
  el(
    "p",
    { class: "ds-refusal", role: "alert" },
    el("b", {}, [name && `${name} was not taken in.`, error.message].filter(Boolean).join(" ")),
    " ",
    [error.hint, name && "Nothing was changed."].filter(Boolean).join(" "),
  );
