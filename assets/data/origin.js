// Where the session on view comes from: what it was branched or re-run from, with the way back; whether it came in
// from a file.

import { button, el, quoted } from "../parts/dom.js";
import { when } from "../parts/format.js";

export function originOf(head, open) {
  const { parent_id: parent, relation, branch_at: at, forced = [], forced_pieces: pieces = {} } = head;
  const from = imported(head);
  if (relation === "branch" && at !== null && at !== undefined) {
    const token = pieces[forced[at]];
    return [
      "branch of ",
      link(parent, open),
      ` at position ${at}`,
      token === undefined ? null : [": ", quoted(token)],
      from,
    ];
  }
  return relation ? ["re-run of ", link(parent, open), from] : [from];
}

// A parent that was deleted is said to be so: its number would lead nowhere.
const link = (id, open) =>
  id === null || id === undefined
    ? "a session that is gone"
    : button(`#${id}`, {
        class: "ds-link",
        title: `Open session ${id}`,
        "data-key": `origin-${id}`,
        onclick: () => open(id),
      });

const imported = (head) =>
  head.imported
    ? el(
        "span",
        { class: "ds-flag", title: "It ran elsewhere, and came in from a file." },
        `imported ${when(head.imported)}`,
      )
    : null;
