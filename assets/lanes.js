// Compare: one session under several rules, same seed. Lanes are aligned by absolute position, the baseline
// on top, wrapped into staves like music; the first divergence is marked, agreement steps back.

import { button, el, replace, setText, tokenText } from "./dom.js";
import { count, decimal, percent, share, spoken } from "./format.js";
import { firstDivergence, firstUnlike, output, staves } from "./align.js";
import { isLive } from "./store.js";

const MOST = 6;
const FIRST = ["stochastic", "sampler-match", "block"];
const CHAR_PX = 7.9;
const NAME_PX = 176;

export function lanesView(store, actions) {
  const pick = el("div", { class: "ds-rulepick" });
  const run = button("Re-run under these rules", { class: "ds-button is-primary" });
  const hint = el("span", { class: "ds-hint" });
  const meaning = el("p", { class: "ds-hint ds-rulemeaning" }, "Point at a rule to read what it does.");
  const chooser = el(
    "section",
    { class: "ds-panel ds-chooser", "aria-label": "Rules to compare" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Compare rules"),
      el("p", { class: "ds-facts" }, "the models run again, same seed, each rule on its own path"),
    ),
    pick,
    el("div", { class: "ds-actions" }, run, hint, meaning),
  );
  const metrics = el("section", { class: "ds-panel ds-metrics", "aria-label": "Lanes in numbers" });
  const staff = el("section", { class: "ds-panel ds-staff", "aria-label": "Lanes" });
  const root = el("div", { class: "ds-lanes" }, chooser, metrics, staff);
  let drawn = [];
  let picked = new Set();
  let offered = "";

  // The rules that have a meaning under this session's sampling, its own and two more picked.
  function choose(state) {
    const head = state.sessions[state.focus]?.head;
    if (!state.choices || !head || offered === `${head.id} ${head.status}`) return;
    offered = `${head.id} ${head.status}`;
    const greedy = head.sampling.temperature === 0 || head.sampling.top_k === 1;
    const rules = state.choices.rules.filter((rule) => greedy || !rule.greedy_only);
    picked = new Set(rules.map((rule) => rule.id).filter((id) => id === head.rule || FIRST.includes(id)));
    replace(
      pick,
      ruleGroups(rules, picked, tell, (rule) => setText(meaning, `${rule.title}. ${rule.meaning}`)),
    );
    tell();
  }

  function tell() {
    const n = picked.size;
    run.disabled = n < 1 || n > MOST;
    setText(hint, n < 1 ? "Choose a rule." : n > MOST ? `Choose at most ${MOST} rules.` : "");
  }

  run.addEventListener("click", async () => {
    run.disabled = true;
    setText(hint, "Starting…");
    await actions.rerun([...picked]);
    tell();
  });

  return {
    root,
    render(state) {
      root.hidden = state.view !== "compare";
      if (root.hidden) return;
      choose(state);
      const focus = state.sessions[state.focus];
      chooser.hidden = !focus || !actions.canRerun;
      const sessions = state.lanes.map((id) => state.sessions[id]).filter((session) => session?.head);
      const width = Math.floor((staff.clientWidth - NAME_PX) / CHAR_PX);
      const key = [...sessions, state.lanes.length, width, state.cursor, state.focus];
      if (key.length === drawn.length && key.every((part, i) => part === drawn[i])) return;
      drawn = key;
      metrics.hidden = staff.hidden = sessions.length === 0;
      if (sessions.length === 0) return;
      const lanes = sessions.map((session) => ({ session, tokens: output(session), pieces: session.pieces }));
      replace(metrics, metricsTable(lanes, state.focus, actions));
      replace(
        staff,
        el(
          "header",
          { class: "ds-head" },
          el("h2", {}, "Lanes"),
          el("p", { class: "ds-facts" }, divergenceText(lanes)),
        ),
        staffOf(lanes, Math.max(24, width), state, actions),
      );
    },
  };
}

const GROUPS = { lossless: "Lossless", biased: "Biased", faulty: "Faulty, to be seen failing" };

const kindOf = (rule) => (rule.lossless ? "lossless" : rule.faulty ? "faulty" : "biased");

// Three short rows of boxes; what a rule does is said below while it is pointed at.
function ruleGroups(rules, picked, changed, explain) {
  return Object.entries(GROUPS).map(([kind, title]) =>
    el(
      "div",
      { class: "ds-rulegroup", role: "group", "aria-label": title },
      el("span", {}, title),
      el(
        "div",
        {},
        rules.filter((rule) => kindOf(rule) === kind).map((rule) => ruleBox(rule, picked, changed, explain)),
      ),
    ),
  );
}

function ruleBox(rule, picked, changed, explain) {
  const box = el("input", { type: "checkbox", value: rule.id, checked: picked.has(rule.id) });
  box.addEventListener("change", () => {
    if (box.checked) picked.add(rule.id);
    else picked.delete(rule.id);
    changed();
  });
  const say = () => explain(rule);
  return el(
    "label",
    { class: "ds-rulechoice", title: rule.meaning, onpointerenter: say, onfocusin: say },
    box,
    rule.title.replace(/^Fault: /, ""),
  );
}

function divergenceText(lanes) {
  if (lanes.length < 2) return "choose rules above to add lanes";
  const found = lanes
    .slice(1)
    .map((lane) => firstDivergence(lanes[0].tokens, lane.tokens))
    .filter((at) => at !== null);
  return found.length ? `first divergence at position ${Math.min(...found)}` : "no divergence so far";
}

function metricsTable(lanes, focus, actions) {
  const cell = (text, title) => el("td", { title }, text);
  const heads = ["lane", "tested drafts accepted", "tokens per pass", "output", "against the baseline"];
  return el(
    "table",
    { class: "ds-table" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map((text) => el("th", { scope: "col" }, text)),
      ),
    ),
    el(
      "tbody",
      {},
      lanes.map((lane, i) => {
        const { session } = lane;
        const { tally } = session;
        const first = i === 0 ? null : firstDivergence(lanes[0].tokens, lane.tokens);
        return el(
          "tr",
          { class: session.id === focus ? "is-current" : null },
          el(
            "th",
            { scope: "row" },
            button(session.head.rule, {
              class: "ds-lanename",
              title: `Open this lane (${i + 1})`,
              "data-key": `lanename-${session.id}`,
              onclick: () => actions.open(session.id),
            }),
            el("small", {}, ` #${session.id}`),
            instead(session.head),
          ),
          cell(share(tally.accepted, tally.tested)),
          cell(
            tally.rounds
              ? `${decimal(tally.emitted / tally.rounds)} (${tally.emitted} / ${tally.rounds})`
              : "–",
          ),
          cell(`${count(tally.emitted, "token")}, ${session.status}`),
          cell(i === 0 ? el("em", { class: "ds-kind" }, "baseline") : against(lanes[0], lane, first)),
        );
      }),
    ),
  );
}

// A lane that runs another rule than was asked for says so.
const instead = (head) =>
  head.reason ? el("small", { title: head.reason }, ` instead of ${head.asked}`) : null;

// Where a lane leaves the baseline. Under the baseline's own rule it must not: the same tokens, the same
// coins, said only once both have ended.
function against(baseline, lane, first) {
  if (lane.tokens.length === 0) return "–";
  const own = lane.session.head.rule === baseline.session.head.rule;
  const ended = !isLive(lane.session.status) && !isLive(baseline.session.status);
  const unlike = own ? firstUnlike(baseline.session, lane.session) : null;
  if (unlike !== null)
    return el("em", { class: "ds-kind is-faulty" }, `not reproduced: round ${unlike} differs`);
  if (first !== null) return `diverges at position ${first}`;
  if (!ended || baseline.tokens.length !== lane.tokens.length) return "same so far";
  return own ? el("em", { class: "ds-kind is-good" }, "reproduced") : "same tokens";
}

function staffOf(lanes, width, state, actions) {
  const divergences = lanes.map((lane, i) =>
    i === 0 ? null : firstDivergence(lanes[0].tokens, lane.tokens),
  );
  return staves(lanes, width).map(({ from, to }) => {
    const columns = Array.from({ length: to - from }, (_, i) => from + i);
    return el(
      "div",
      { class: "ds-stave", style: { gridTemplateColumns: `8.5rem repeat(${to - from}, auto) 1fr` } },
      el("span", { class: "ds-stave-name" }),
      columns.map((at) =>
        el("span", { class: "ds-stave-at" }, at === from || at % 5 === 0 ? String(at) : ""),
      ),
      el("span", {}),
      lanes.map((lane, i) => [
        el(
          "span",
          { class: "ds-stave-name" },
          el("b", {}, lane.session.head.rule),
          el("small", {}, `#${lane.session.id}`),
        ),
        columns.map((at) => laneToken(lanes, i, at, divergences[i], state, actions)),
        el("span", {}),
      ]),
    );
  });
}

function laneToken(lanes, i, at, divergence, state, actions) {
  const { session, tokens, pieces } = lanes[i];
  const token = tokens[at];
  if (!token) return el("span", { class: "ds-lane-none" });
  const base = lanes[0].tokens[at];
  const differs = i > 0 && base !== undefined && base.id !== token.id;
  const here =
    state.focus === session.id && state.cursor?.round === token.round && state.cursor?.pos === token.pos;
  const position = session.rounds[token.round].positions[token.pos];
  const first = divergence === at;
  return el(
    "button",
    {
      type: "button",
      class: `ds-token is-${token.fate}${differs ? " is-different" : ""}${first ? " is-divergence" : ""}`,
      "aria-current": here ? "true" : null,
      "data-key": `lane-${session.id}-${at}`,
      "aria-label": `${session.head.rule}, position ${at}, ${spoken(pieces[token.id])}, ${token.fate}${first ? ", first divergence" : differs ? ", differs from the baseline" : ""}`,
      title: `position ${at} · ${token.fate}${position ? ` · p ${percent(position.p)}, q ${percent(position.q)}` : ""}${first ? " · first divergence" : ""}`,
      onclick: () => actions.open(session.id, { round: token.round, pos: token.pos }),
    },
    tokenText(pieces[token.id], 16),
  );
}
