// The tokens a branch was given: what stood before it, and the one that was chosen by hand, which has a frame.

import { el, tokenText } from "../parts/dom.js";
import { breaksLine, spoken } from "../parts/format.js";

export function givenTokens(head) {
  const { forced = [], forced_pieces: pieces = {} } = head ?? {};
  return forced.flatMap((id, at) => {
    const chosen = at === forced.length - 1;
    const what = chosen ? "chosen by hand" : "taken over from the session it was branched from";
    const token = el(
      "span",
      {
        class: `ds-token is-given${chosen ? " is-chosen" : ""}`,
        title: `position ${at} · ${what} · id ${id}`,
        "aria-label": chosen ? `${spoken(pieces[id])}, ${what}` : null,
        role: chosen ? "img" : null,
      },
      tokenText(pieces[id]),
    );
    return breaksLine(pieces[id]) ? [token, el("br")] : [token];
  });
}
