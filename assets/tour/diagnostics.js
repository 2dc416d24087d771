// What a fault does to the numbers, beside the healthy engine under the same seeds: acceptance by depth and over
// the session, the law of the first token, the tests, and the two texts. Elements from one recorded case.

import { el, table, tokenText } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";

export function diagnostics(healthy, faulty, divergence) {
  return [
    box("Acceptance by depth", "of the drafts tested at each place of a round; lines are 95 % intervals", [
      legend(),
      pairs(
        healthy.by_depth.map((one, i) => [`draft ${one.depth}`, one, faulty.by_depth[i] ?? null]),
        "Acceptance by depth",
      ),
    ]),
    box(
      "First tokens",
      "how often each came, and what the target wants: the upright line",
      [
        legend(),
        law(healthy.law, faulty.law),
        el(
          "p",
          { class: "ds-hint" },
          `Distance to the target (TV): healthy ${decimal(healthy.tv)}, faulty ${decimal(faulty.tv)}. Chance alone makes some.`,
        ),
      ],
      true,
    ),
    box("Acceptance over the session", "in the first, middle and last third of its rounds", [
      legend(),
      pairs(
        ["first third", "middle", "last third"].map((name, i) => [
          name,
          healthy.by_time[i],
          faulty.by_time[i],
        ]),
        "Acceptance over the session",
      ),
    ]),
    box("Tests", "p-values: below 0.0001 fails; a right engine fails each once in 10 000", [
      tests(healthy, faulty),
    ]),
    box("The same prompt and seed", divergenceText(divergence), [
      text("healthy", healthy.text),
      text("faulty", faulty.text),
    ]),
  ];
}

const box = (title, facts, children, tall = false) =>
  el(
    "section",
    { class: `ds-panel ds-faultbox${tall ? " is-tall" : ""}`, "aria-label": title },
    el("header", { class: "ds-head" }, el("h3", {}, title), el("p", { class: "ds-facts" }, facts)),
    children,
  );

const legend = () =>
  el(
    "p",
    { class: "ds-faultlegend", "aria-hidden": "true" },
    el("i", { class: "is-healthy" }),
    "healthy ",
    el("i", { class: "is-faulty" }),
    "faulty",
  );

function pairs(rows, name) {
  return el(
    "div",
    { class: "ds-faultpairs", role: "list", "aria-label": name },
    rows.map(([title, healthy, faulty]) =>
      el(
        "div",
        { role: "listitem" },
        el("span", {}, title),
        el("div", {}, rate("healthy", healthy), rate("faulty", faulty)),
      ),
    ),
  );
}

// A share as a bar with its interval and its numbers.
function rate(kind, one) {
  const known = one && one.whole > 0;
  return el(
    "div",
    { class: `ds-faultrate is-${kind}` },
    el(
      "span",
      { class: "ds-faulttrack", "aria-hidden": "true" },
      known ? el("i", { style: { width: `${100 * one.rate}%` } }) : null,
      known
        ? el("b", { style: { left: `${100 * one.low}%`, width: `${100 * (one.high - one.low)}%` } })
        : null,
    ),
    el(
      "span",
      {},
      el("span", { class: "ds-sr" }, `${kind}: `),
      known ? `${percent(one.rate)} of ${one.whole}` : "none tested",
    ),
  );
}

function law(healthy, faulty) {
  const most = Math.max(...[...healthy, ...faulty].flatMap(([, p, share]) => [p, share]));
  const bar = (kind, share, p) =>
    el(
      "div",
      { class: `ds-faultrate is-${kind}` },
      el(
        "span",
        { class: "ds-faulttrack", "aria-hidden": "true" },
        el("i", { style: { width: `${(100 * share) / most}%` } }),
        el("em", { style: { left: `${(100 * p) / most}%` } }),
      ),
      el("span", {}, el("span", { class: "ds-sr" }, `${kind}: `), percent(share)),
    );
  return el(
    "div",
    { class: "ds-faultpairs is-law", role: "list", "aria-label": "First tokens" },
    healthy.map(([piece, p, share], i) =>
      el(
        "div",
        { role: "listitem" },
        el("span", {}, tokenText(piece, 12), el("span", { class: "ds-sr" }, `, target ${percent(p)}`)),
        el("div", {}, bar("healthy", share, p), bar("faulty", faulty[i][2], faulty[i][1])),
      ),
    ),
  );
}

function tests(healthy, faulty) {
  const said = (one) =>
    !one || one.p_value === null ? "not tested" : `${pText(one.p_value)} ${one.fails ? "fails" : "fits"}`;
  const rows = [
    ["first tokens", said(healthy.first), said(faulty.first)],
    ["pairs of tokens", said(healthy.pairs), said(faulty.pairs)],
    ["drafts against q", said(healthy.drafts), said(faulty.drafts)],
    ["acceptance against its closed form", said(healthy.acceptance), said(faulty.acceptance)],
    ["first drafts accepted", ofFirst(healthy), ofFirst(faulty)],
    ["at most, sum min(p, q)", percent(healthy.first_draft.ceiling), percent(faulty.first_draft.ceiling)],
    ["tokens per target pass", decimal(healthy.per_pass), decimal(faulty.per_pass)],
  ];
  const made = table(["test", "healthy", "faulty"], rows);
  for (const cell of made.querySelectorAll("td"))
    if (cell.textContent.endsWith("fails")) cell.classList.add("is-failing");
  return el(
    "div",
    { class: "ds-faulttests", tabindex: 0, role: "region", "aria-label": "Table of the tests" },
    made,
  );
}

const ofFirst = ({ first_draft: one }) => `${percent(one.accepted / one.tested)} of ${one.tested}`;

const pText = (p) => (p < 1e-12 ? "< 1e-12" : p < 1e-4 ? p.toExponential(0) : decimal(p));

const divergenceText = (at) =>
  at === null ? "the two texts are the same" : `the first ${at} tokens are the same`;

const text = (kind, said) => el("p", { class: `ds-faulttext is-${kind}` }, el("b", {}, kind), " ", said);
