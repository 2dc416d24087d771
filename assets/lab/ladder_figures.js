// The pictures of the ladder: every draft and every coin as one square, and p as what was kept and what refills it.

import { el, svg } from "../parts/dom.js";
import { residual } from "./rows.js";

const SIZE = 220;

// Across: the drafts, as wide as q. Up: u. Blue up to each threshold.
export function square({ names, p, q }, { x, u, all }) {
  let left = 0;
  const columns = q.flatMap((width, id) => {
    if (!(width > 0)) return [];
    const start = left;
    left += width;
    return [{ id, start, width, bar: Math.min(1, p[id] / width) }];
  });
  const [px, py] = [(v) => 20 + v * SIZE, (v) => 6 + (1 - v) * SIZE];
  const own = columns.find((column) => column.id === x);
  const shown = (column) => all || column === own;
  const part = (column, low, high, kind) =>
    svg("rect", {
      class: `ds-lab-area is-${kind}`,
      x: px(column.start),
      y: py(high),
      width: column.width * SIZE,
      height: (high - low) * SIZE,
    });
  return figure(
    all ? "kept and rejected areas" : "the coin in the square of all drafts and all coins",
    columns
      .filter(shown)
      .flatMap((column) => [part(column, 0, column.bar, "kept"), part(column, column.bar, 1, "dropped")]),
    // u runs from 0 to 1: what it has not reached yet is covered.
    all ? svg("rect", { class: "ds-lab-cover", x: px(0), y: py(1), width: SIZE, height: SIZE }) : null,
    svg("rect", { class: "ds-lab-frame", x: px(0), y: py(1), width: SIZE, height: SIZE }),
    columns.map((column) => [
      svg("line", {
        class: "ds-lab-frame",
        x1: px(column.start),
        x2: px(column.start),
        y1: py(0),
        y2: py(1),
      }),
      column.width > 0.06
        ? svg(
            "text",
            { class: "ds-lab-tick", x: px(column.start + column.width / 2), y: py(0) + 14 },
            names[column.id],
          )
        : null,
    ]),
    svg("circle", { class: "ds-lab-dot", cx: px(own.start + own.width / 2), cy: py(u), r: 5 }),
    axis("u"),
  );
}

// p as columns: what was kept, and what the residual refills.
export function refillSquare({ names, p, q }) {
  const { row, mass } = residual(p, q);
  const top = Math.max(...p, 0.01);
  const wide = SIZE / p.length;
  const y = (value) => 6 + (1 - value / top) * SIZE;
  const column = (id, low, high, kind) =>
    svg("rect", {
      class: `ds-lab-area is-${kind}`,
      x: 20 + id * wide + 3,
      y: y(high),
      width: wide - 6,
      height: Math.max(0, y(low) - y(high)),
    });
  return figure(
    "kept and refilled make p",
    p.flatMap((prob, id) => {
      const both = Math.min(prob, q[id]);
      return [column(id, 0, both, "kept"), column(id, both, both + (row ? row[id] * mass : 0), "refilled")];
    }),
    p.map((prob, id) => [
      svg("line", {
        class: "ds-lab-wantline",
        x1: 20 + id * wide,
        x2: 20 + (id + 1) * wide,
        y1: y(prob),
        y2: y(prob),
      }),
      svg("text", { class: "ds-lab-tick", x: 20 + (id + 0.5) * wide, y: y(0) + 14 }, names[id]),
    ]),
    svg("line", { class: "ds-lab-frame", x1: 20, x2: 20 + SIZE, y1: y(0), y2: y(0) }),
    axis("p"),
  );
}

const figure = (label, ...children) =>
  el(
    "figure",
    { class: "ds-lab-figure" },
    svg("svg", { viewBox: `0 0 ${SIZE + 30} ${SIZE + 30}`, role: "img", "aria-label": label }, children),
    el("figcaption", {}, label),
  );

const axis = (name) => svg("text", { class: "ds-lab-tick", x: 8, y: SIZE / 2 + 6 }, name);
