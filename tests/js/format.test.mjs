import assert from "node:assert/strict";
import test from "node:test";
import {
  breaksLine,
  decimal,
  milliseconds,
  parts,
  percent,
  share,
  spoken,
  visible,
} from "../../assets/parts/format.js";

test("whitespace, control, bidi and zero-width characters are visible", () => {
  assert.equal(visible(" the"), "·the");
  assert.equal(visible("\n\t\r"), "⏎⇥U+000D");
  assert.equal(visible("\u0000\u007f"), "U+0000U+007F");
  assert.equal(visible("a\u202eb"), "aU+202Eb");
  assert.equal(visible("\u200b"), "U+200B");
  assert.equal(visible("\u00a0\u3000"), "U+00A0U+3000");
  assert.equal(visible("\u0336x"), "◌\u0336x");
  assert.equal(visible(""), "empty");
});

test("markup stays text", () => {
  assert.deepEqual(parts("<b>"), [["text", "<b>"]]);
  assert.deepEqual(parts("${1}{{2}}"), [["text", "${1}{{2}}"]]);
});

test("bytes are hex, special tokens keep their name, unknown tokens say so", () => {
  assert.deepEqual(parts({ hex: "e2 80" }), [["hex", "e2 80"]]);
  assert.deepEqual(parts({ special: "<|im_end|>" }), [["special", "<|im_end|>"]]);
  assert.deepEqual(parts(undefined), [["code", "?"]]);
});

test("a very long token is clipped with what is left", () => {
  const shown = visible("x".repeat(10000));
  assert.equal(shown, `${"x".repeat(60)}… +9940`);
});

test("a token outside the BMP is one character", () => {
  assert.equal(visible("🙂🙂🙂", 2), "🙂🙂… +1");
});

test("a screen reader hears whitespace as words", () => {
  assert.equal(spoken(" the"), "space the");
  assert.equal(spoken("\n\n"), "newline newline");
  assert.equal(spoken({ hex: "e2 80" }), "bytes e2 80");
});

test("only text breaks a line", () => {
  assert.equal(breaksLine(".\n"), true);
  assert.equal(breaksLine({ hex: "0a" }), false);
});

test("percent is never blank, never a false 0 or 100", () => {
  assert.equal(percent(0), "0\u00a0%");
  assert.equal(percent(1e-9), "<0.01\u00a0%");
  assert.equal(percent(0.0813), "8.13\u00a0%");
  assert.equal(percent(0.361), "36.1\u00a0%");
  assert.equal(percent(0.99999), ">99.99\u00a0%");
  assert.equal(percent(1), "100\u00a0%");
  assert.equal(percent(null), "not kept");
});

test("decimal keeps three digits and never rounds up to 1", () => {
  assert.equal(decimal(0.22513), "0.225");
  assert.equal(decimal(0.99996), "0.99996");
  assert.equal(decimal(1), "1");
  assert.equal(decimal(0), "0");
  assert.equal(decimal(12.3456), "12.3");
  assert.equal(decimal(0.00012), "1.2 × 10⁻⁴");
  assert.equal(decimal(12345.6), "12 346");
  assert.equal(decimal(null), "–");
});

test("times and shares carry their unit and denominator", () => {
  assert.equal(milliseconds(3.21), "3.2 ms");
  assert.equal(milliseconds(41.2), "41 ms");
  assert.equal(milliseconds(12345), "12.3 s");
  assert.equal(share(61, 100), "61 of 100 (61\u00a0%)");
  assert.equal(share(0, 0), "0 of 0");
});
