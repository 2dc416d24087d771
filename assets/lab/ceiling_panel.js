// The ceiling: no rule that keeps p can keep more drafts than sum min(p, q). What passes it pays in the text.

import { el, replace, setText, svg } from "../parts/dom.js";
import { decimal, percent } from "../parts/format.js";
import { distances, lawOf } from "./law.js";
import { agreement, argmax, overlap, tv } from "./rows.js";
import { at, slidable } from "./slide.js";
import { ruleOf } from "./table.js";

export function ceilingPanel(lab) {
  const chart = el("div", { class: "ds-lab-ceiling" });
  const words = el("p", { class: "ds-lab-words" });
  const heat = temperaturePart(lab);
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel", id: "ds-lab-ceiling", "aria-label": "The ceiling" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "The ceiling"),
      el(
        "p",
        { class: "ds-facts" },
        "sum min(p, q) = 1 − TV(p, q): the most any rule can keep that leaves the text to p",
      ),
    ),
    el("div", { class: "ds-lab-twogrid" }, el("div", {}, chart, words), heat.root),
  );
  return {
    root,
    render(state) {
      const { p, q } = state;
      const best = argmax(p);
      const cost = distances(lawOf(ruleOf("argmax"), p, q, 1), p).single;
      const lines = [
        ["rejection sampling", overlap(p, q), "sum min(p, q)", 0],
        ["sampler match", agreement(p, q), "sum p q", 0],
        ["argmax match", q[best], `q(${state.names[best]})`, cost],
      ];
      replace(chart, ceilingOf(lines, overlap(p, q)));
      setText(words, sentence(state, { best, cost }));
      heat.render(lab.temperatures());
    },
  };
}

function ceilingOf(lines, limit) {
  return [
    lines.map(([name, value, formula, cost]) =>
      el(
        "div",
        { class: "ds-lab-lawrow is-wide" },
        el("span", { class: "ds-lab-token" }, name, el("small", {}, formula)),
        el(
          "div",
          { class: "ds-lab-bar is-flat" },
          el("i", { class: "ds-lab-fill ds-shared", style: { width: at(Math.min(value, limit)) } }),
          value > limit
            ? el("i", {
                class: "ds-lab-fill ds-only-q",
                style: { left: at(limit), width: at(value - limit) },
              })
            : null,
          el("i", { class: "ds-lab-want", style: { left: at(limit) } }),
        ),
        el("span", { class: "ds-number" }, percent(value)),
        el("span", { class: "ds-number is-q" }, cost < 1e-12 ? "TV 0" : `TV ${decimal(cost)}`),
      ),
    ),
    el(
      "p",
      { class: "ds-hint" },
      `The line is the ceiling, ${percent(limit)}: the area that p and q share. A token is drafted q of the time and may come out p of the time, so a kept draft can be it at most min(p, q) of the time.`,
    ),
  ];
}

function sentence({ names, p, q }, { best, cost }) {
  const over = q[best] > overlap(p, q) + 1e-12;
  const paid = `It always writes ${names[best]}, where the target would only ${percent(p[best])} of the time: off by TV ${decimal(cost)}.`;
  if (cost < 1e-12) return "The target is certain here, so taking its argmax costs nothing.";
  if (over) return `Argmax match keeps more than the ceiling, because it does not keep p. ${paid}`;
  return `Argmax match stays below the ceiling here (TV ${decimal(tv(p, q))} is the area above it), and still does not keep p. ${paid}`;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [380, 200, 34, 22];

// The two rates over temperatures, as measured on the bundled pair; the slider reads them off.
function temperaturePart() {
  const drafter = el("select", { class: "ds-select", "aria-label": "Drafter measured" });
  const chart = el("div", { class: "ds-lab-heat" });
  const handle = el("i", { class: "ds-lab-handle" });
  const line = el("div", { class: "ds-lab-bar is-scale" }, handle);
  const read = el("p", { class: "ds-lab-verdict", role: "status" });
  const about = el("p", { class: "ds-hint" });
  const root = el(
    "div",
    {},
    el("div", { class: "ds-lab-tools" }, el("h3", {}, "Temperature, on real models"), drafter),
    chart,
    line,
    read,
    about,
  );
  let body = null;
  let now = 6;
  const last = () => body.temperatures.length - 1;
  let say = null;
  drafter.addEventListener("change", () => show());

  function put(value) {
    now = Math.round(value * last());
    show();
  }

  function show() {
    const curves = body.drafters[drafter.value];
    const t = body.temperatures[now];
    handle.style.left = at(now / last());
    say(now / last(), `temperature ${t}`);
    replace(chart, heatChart(body.temperatures, curves, now));
    const [low, high] = [curves.sum_min[now], curves.sum_prod[now]];
    setText(
      read,
      `At temperature ${t}: sum min(p, q) = ${decimal(low)}, sum p q = ${decimal(high)}. Rejection sampling keeps ${decimal(low / high)} times as many drafts.`,
    );
  }

  return {
    root,
    render(found) {
      root.hidden = !found;
      if (!found || body === found) return;
      body = found;
      say ??= slidable(line, handle, "Temperature", (value) => value !== null && put(value), {
        fine: 1 / last(),
      });
      replace(
        drafter,
        Object.keys(body.drafters).map((name) => el("option", { value: name }, name)),
      );
      setText(
        about,
        `Measured on ${body.target.name}: ${body.positions} positions of ${body.prompts} texts, written at temperature ${body.written_at}. As both models grow unsure, two independent draws hardly ever agree, so sum p q falls towards 0; what they share does not.`,
      );
      show();
    },
  };
}

function heatChart(temperatures, curves, now) {
  const [first, last] = [temperatures[0], temperatures[temperatures.length - 1]];
  const x = (t) => LEFT + ((t - first) / (last - first)) * (WIDTH - LEFT - 10);
  const y = (value) => 8 + (1 - value) * (HEIGHT - BOTTOM - 8);
  const path = (values) =>
    temperatures.map((t, i) => `${x(t).toFixed(1)},${y(values[i]).toFixed(1)}`).join(" ");
  const tick = (words, px, py, anchor) =>
    svg("text", { class: "ds-lab-tick", x: px, y: py, "text-anchor": anchor }, words);
  const end = (values) => y(values[values.length - 1]);
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "sum min(p, q) and sum p q over temperatures",
    },
    [0, 0.5, 1].map((value) => [
      svg("line", { class: "ds-lab-gridline", x1: LEFT, x2: WIDTH - 10, y1: y(value), y2: y(value) }),
      tick(String(value), LEFT - 6, y(value) + 4, "end"),
    ]),
    [0.2, 0.5, 1, 1.5].map((t) => tick(String(t), x(t), HEIGHT - 6, "middle")),
    svg("polyline", { class: "ds-lab-curve is-min", points: path(curves.sum_min) }),
    svg("polyline", { class: "ds-lab-curve is-prod", points: path(curves.sum_prod) }),
    tick("sum min(p, q)", WIDTH - 12, end(curves.sum_min) - 8, "end"),
    tick("sum p q", WIDTH - 12, end(curves.sum_prod) - 8, "end"),
    svg("line", {
      class: "ds-lab-now",
      x1: x(temperatures[now]),
      x2: x(temperatures[now]),
      y1: y(1),
      y2: y(0),
    }),
    [curves.sum_min, curves.sum_prod].map((values) =>
      svg("circle", { class: "ds-lab-dot", cx: x(temperatures[now]), cy: y(values[now]), r: 4 }),
    ),
  );
}
