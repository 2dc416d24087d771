import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bytesOf, inflated, unpacked } from "../../assets/source/columns.js";

// Made by inspector/standalone/columns.py; tests/inspector/standalone/test_columns.py holds the file to it.
const shared = JSON.parse(readFileSync(new URL("columns.json", import.meta.url)));

test("columns become the lists they were made from", () => {
  for (const [columns, values] of shared.lists) assert.deepStrictEqual(unpacked(columns), values);
});

test("a deflated text is read again", async () => {
  assert.equal(await inflated(shared.text.deflated), shared.text.text);
});

test("base 85 ends in a short group", () => {
  assert.deepEqual([...bytesOf("XlV")], [104, 105]);
  assert.deepEqual([...bytesOf("")], []);
});
