// The exported page's own few lines: they unpack the screen and what it shows, which the page holds compressed. The
// page's policy knows both scripts by their hashes and runs no other. See inspector/standalone/static_page.py.

import { inflated } from "./source/columns.js";

async function begin() {
  const { code, packed, ...recording } = JSON.parse(document.getElementById("recording").textContent);
  const [script, large] = await Promise.all([code, packed].map(inflated));
  document.head.append(Object.assign(document.createElement("script"), { textContent: script }));
  globalThis.draftscope.open(document.getElementById("screen"), recording, JSON.parse(large));
}

begin().catch((error) => {
  document.getElementById("screen").textContent = `This page could not be opened: ${error.message}`;
});
