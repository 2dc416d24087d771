// What the models were asked: one line, which opens to the prompt's own tokens, chat template and all.

import { breaksLine } from "../parts/format.js";
import { el, replace, setText, tokenText } from "../parts/dom.js";

export function promptFold() {
  const asked = el("span", { class: "ds-asked" });
  const count = el("span", { class: "ds-askedtokens" });
  const body = el("p", { class: "ds-prompttokens" });
  const root = el(
    "details",
    { class: "ds-prompt" },
    el("summary", {}, el("b", {}, "Prompt"), asked, count),
    body,
  );
  let shown; // the head whose prompt is shown
  let built = null; // the head whose tokens are there: a long prompt is built once, when it is opened
  const fill = () => {
    if (!root.open || built === shown) return;
    built = shown;
    replace(body, tokensOf(shown));
  };
  root.addEventListener("toggle", fill);
  return {
    root,
    render(head) {
      if (head === shown) return;
      shown = head;
      const n = head?.prompt_tokens?.length ?? 0;
      root.hidden = !head?.prompt && n === 0;
      setText(asked, head?.prompt ?? "");
      setText(count, n ? `${n} tokens` : "");
      fill();
    },
  };
}

function tokensOf(head) {
  if (!head?.prompt_pieces || !head.prompt_tokens?.length) return [head?.prompt ?? ""];
  return head.prompt_tokens.flatMap((id, i) => promptToken(head.prompt_pieces[id], id, i));
}

function promptToken(piece, id, i) {
  const token = el(
    "span",
    { class: "ds-token is-prompt", title: `prompt token ${i}, id ${id}` },
    tokenText(piece),
  );
  return breaksLine(piece) ? [token, el("br")] : [token];
}
