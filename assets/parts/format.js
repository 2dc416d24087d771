// How tokens and numbers are written. Everything returned is plain text for textContent, never markup.

// Only glyphs that common fonts have; every other invisible character is named by its code.
const GLYPHS = { 9: "⇥", 10: "⏎" };
const HIDDEN =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/;
const WIDE_SPACE = /[\u1680\u2000-\u200a\u202f\u205f\u3000]/;
const COMBINING = /^\p{M}/u;
const CLIP = 60;

function mark(char) {
  const code = char.codePointAt(0);
  if (GLYPHS[code]) return ["control", GLYPHS[code]];
  if (code < 32 || (code >= 0x7f && code <= 0xa0) || HIDDEN.test(char) || WIDE_SPACE.test(char)) {
    return ["code", `U+${code.toString(16).toUpperCase().padStart(4, "0")}`];
  }
  return char === " " ? ["space", "·"] : ["text", char];
}

// The parts of a token as [kind, text]; kind is text, space, control, code, hex, special or clipped.
export function parts(piece, clip = CLIP) {
  if (piece === undefined) return [["code", "?"]];
  if (piece.hex !== undefined) return [["hex", piece.hex]];
  if (piece.special !== undefined) return [["special", visible(piece.special, clip)]];
  if (piece === "") return [["code", "empty"]];
  const chars = [...piece];
  const out = [];
  if (COMBINING.test(piece)) out.push(["text", "◌"]);
  for (const char of chars.slice(0, clip)) {
    const [kind, text] = mark(char);
    const last = out[out.length - 1];
    if (last && last[0] === kind && kind !== "code") last[1] += text;
    else out.push([kind, text]);
  }
  if (chars.length > clip) out.push(["clipped", `… +${chars.length - clip}`]);
  return out;
}

// A token as one visible string.
export const visible = (piece, clip = CLIP) =>
  parts(piece, clip)
    .map((part) => part[1])
    .join("");

const SPOKEN = { "·": "space", "⏎": "newline", "⇥": "tab" };

// A token for a screen reader: whitespace as words.
export function spoken(piece) {
  return parts(piece)
    .map(([kind, text]) => {
      if (kind === "hex") return `bytes ${text}`;
      if (kind === "special") return `special token ${text}`;
      if (kind === "text") return text;
      return [...text].map((char) => SPOKEN[char] ?? char).join(kind === "code" ? "" : " ");
    })
    .join(" ");
}

export const breaksLine = (piece) => typeof piece === "string" && piece.includes("\n");

// A probability in percent, three digits, never blank and never a false 0 or 100.
export function percent(value) {
  if (value === null || value === undefined) return "not kept";
  if (value === 0) return "0\u00a0%";
  if (value < 0.0001) return "<0.01\u00a0%";
  if (value === 1) return "100\u00a0%";
  if (value > 0.9999) return ">99.99\u00a0%";
  return `${(value * 100).toFixed(value < 0.1 ? 2 : 1)}\u00a0%`;
}

// A number in [0, 1], or a ratio, with three significant digits.
export function decimal(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) < 0.001)
    return value.toExponential(1).replace("e-", " × 10⁻").replace(/\d+$/, superscript);
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", " ");
  return String(Number(value.toPrecision(digits(value))));
}

// Three, or as many as it takes not to round up to 1.
const digits = (value) => (value > 0.9995 && value < 1 ? Math.min(15, Math.ceil(-Math.log10(1 - value))) : 3);

const superscript = (digits) => [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

export function milliseconds(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

// Bytes as people say them.
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  const [size, unit] = n < 1e6 ? [n / 1e3, "kB"] : n < 1e9 ? [n / 1e6, "MB"] : [n / 1e9, "GB"];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

// A moment in the reader's own time zone and language.
export const when = (iso) => new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// A share with its denominator: "61 of 100 (61 %)".
export const share = (part, whole) =>
  whole ? `${part} of ${whole} (${Math.round((100 * part) / whole)}\u00a0%)` : `${part} of ${whole}`;
