// Building and updating elements. Data reaches the page as text and attributes only, never as markup.

import { parts } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes (class, title, aria-*, on* handlers as functions) and children.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

// A token's visible text: whitespace, control characters and bytes are marked, so they can be styled.
export function tokenText(piece, clip) {
  return el(
    "bdi",
    { class: "ds-piece" },
    parts(piece, clip).map(([kind, text]) =>
      kind === "text" ? text : el("span", { class: `ds-${kind}` }, text),
    ),
  );
}

// A token in running text, in quotes of its own.
export const quoted = (piece) => el("q", { class: "ds-quoted" }, tokenText(piece, 24));

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Replaces all children, keeping the keyboard focus on the element with the same data-key.
export function replace(node, ...children) {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== false));
  if (key) node.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

export function button(label, attributes = {}) {
  return el("button", { type: "button", class: "ds-button", ...attributes }, label);
}

const ICONS = {
  first: "M2 2h2v10H2zM12 2v10L5 7z",
  back: "M10 2v10L3 7z",
  play: "M3 1.5v11l9-5.5z",
  pause: "M3 2h3v10H3zM8 2h3v10H8z",
  on: "M4 2v10l7-5z",
  last: "M10 2h2v10h-2zM2 2v10l7-5z",
};

export function icon(name) {
  return svg(
    "svg",
    { class: "ds-icon", viewBox: "0 0 14 14", "aria-hidden": "true" },
    svg("path", { d: ICONS[name] }),
  );
}

// The head of a table, a column each: a text, [text or element, attributes], or "" for an empty corner.
export function tableHead(columns) {
  return el("thead", {}, el("tr", {}, columns.map(headCell)));
}

function headCell(column) {
  if (!column) return column === "" ? el("td", {}) : null;
  const [text, attributes] = typeof column === "string" ? [column, {}] : column;
  return el("th", { scope: "col", ...attributes }, text);
}

// A column of numbers in a head.
export const numberHead = (text) => [text, { class: "ds-number" }];

// A table of texts; the first cell of a row is its heading.
export function table(columns, rows) {
  return el(
    "table",
    { class: "ds-table" },
    tableHead(columns.map((name) => [name])),
    el(
      "tbody",
      {},
      rows.map(([first, ...cells]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, String(first)),
          cells.map((cell) => el("td", {}, String(cell))),
        ),
      ),
    ),
  );
}
