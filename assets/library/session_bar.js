// The session on view: what runs, how far it is, what it has measured, and the views of it.

import { originOf } from "../data/origin.js";
import { button, el, replace, setText } from "../parts/dom.js";
import { decimal, share } from "../parts/format.js";
import { isLive } from "../source/store.js";
import { watermarkStrip } from "../tour/watermark.js";
import { VIEWS } from "../views.js";

export function sessionBar(store, actions) {
  const name = el("span", { class: "ds-bar-name" });
  const status = el("span", { class: "ds-status" });
  const stop = button("Stop", {
    class: "ds-button is-stop",
    onclick: actions.stop,
    title: "Stop this session; its finished rounds are kept",
  });
  const what = el("span", { class: "ds-bar-what" });
  const origin = el("span", { class: "ds-origin" });
  const measures = el("span", { class: "ds-measures" });
  const view = (id, text) =>
    button(text, { class: "ds-tab", onclick: () => actions.view(id), "data-view": id });
  const tabs = el(
    "div",
    { class: "ds-tabs", role: "group", "aria-label": "View" },
    VIEWS.filter(({ needs }) => !needs || actions[needs]).map(({ id, title }) => view(id, title)),
  );
  const copied = el("span", { class: "ds-copied", role: "status" });
  const link = button("Copy link", {
    title: "Copy a link to this very view (l)",
    class: "ds-button is-quiet",
    onclick: () => actions.copyLink().then((text) => flash(copied, text)),
  });
  const help = button("?", {
    class: "ds-button is-quiet",
    "aria-label": "Keys",
    title: "Keys (?)",
    onclick: () => store.dispatch({ type: "help", on: true }),
  });
  const root = el(
    "div",
    { class: "ds-sessionbar" },
    el(
      "div",
      { class: "ds-bar-left" },
      el("div", { class: "ds-bar-line" }, name, origin, status, what),
      measures,
    ),
    el("div", { class: "ds-bar-right" }, tabs, copied, link, help),
  );
  // Stop stands beside Run, where the page has such a place.
  const beside = document.getElementById("stop-place");
  if (beside) beside.replaceChildren(stop);
  else name.after(stop);
  const why = el("p", { class: "ds-reason", hidden: true });
  const mark = watermarkStrip();
  let drawn = [];
  return {
    root: el("div", { class: "ds-barbox" }, root, mark.root, why),
    render(state) {
      const session = state.sessions[state.focus] ?? null;
      const key = [session, state.view];
      if (key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      tabs
        .querySelectorAll("button")
        .forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.view === state.view)));
      const head = session?.head;
      link.hidden = !session;
      tabs.hidden = !session && !VIEWS.some(({ free, needs }) => free && (!needs || actions[needs]));
      setText(name, session ? (head?.recorded ? "Demo" : `#${session.id}`) : "");
      setText(status, session ? statusText(session) : "");
      status.className = `ds-status is-${session?.status ?? "none"}`;
      stop.hidden = !session || !isLive(session.status) || session.status === "loading" || !actions.canStop;
      setText(what, head ? whatRuns(head) : "");
      replace(origin, head ? originOf(head, (id) => actions.open(id)) : []);
      replace(measures, session ? measured(session.tally) : []);
      mark.show(head);
      setText(why, head ? reasons(head) : "");
      why.hidden = !why.textContent;
    },
  };
}

function flash(node, text) {
  node.textContent = text;
  setTimeout(() => setText(node, ""), 2000);
}

function statusText({ status, head }) {
  if (head?.recorded) return "recorded";
  const reason = head?.end_reason;
  if (!reason || status === "failed") return status;
  return reason.startsWith(status) ? reason : `${status}: ${reason}`;
}

function whatRuns(head) {
  const sampling = head.sampling ?? {};
  const filters = [
    `T ${sampling.temperature}`,
    sampling.top_k ? `top-k ${sampling.top_k}` : "",
    sampling.top_p < 1 ? `top-p ${sampling.top_p}` : "",
    sampling.min_p > 0 ? `min-p ${sampling.min_p}` : "",
  ].filter(Boolean);
  return [
    ruleText(head),
    `${head.drafter} → ${head.target}`,
    `k ${head.k}`,
    ...filters,
    `seed ${head.seed}`,
  ].join(" · ");
}

// The rule that runs, with its parameters.
function ruleText({ rule, params = {} }) {
  const values = Object.entries(params).map(([name, value]) => `${name} ${value}`);
  return values.length ? `${rule} (${values.join(", ")})` : rule;
}

function measured(tally) {
  if (!tally.rounds) return [];
  const one = (label, value, title) =>
    el("span", { class: "ds-measure", title }, el("b", {}, value), ` ${label}`);
  return [
    one("tested drafts accepted", share(tally.accepted, tally.tested), "accepted / positions tested"),
    one(
      "tokens per target pass",
      decimal(tally.emitted / tally.rounds),
      `${tally.emitted} tokens in ${tally.rounds} passes`,
    ),
  ];
}

function reasons(head) {
  const rule = head.reason ? `Ran ${head.rule} instead of ${head.asked}. ${sentence(head.reason)}` : "";
  const end = head.status === "failed" && head.end_reason ? sentence(head.end_reason) : "";
  return [end, rule].filter(Boolean).join(" ");
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
