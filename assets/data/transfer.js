// Files to and from a running Draftscope in parts of a few megabytes, as text in base64.

import { bytes } from "../parts/format.js";

// Fetches an exported file and hands it to the browser; its size.
export async function save(source, asked, note) {
  const { file, name, size, part } = await source.exportFile(asked);
  const parts = [];
  for (let start = 0; start < size; start += part) {
    note(size > part ? `Fetching ${name}, ${Math.round((100 * start) / size)} %` : `Fetching ${name}`);
    const { data } = await source.fetchFile(file, start);
    parts.push(decoded(data));
  }
  const type = asked.kind === "html" ? "text/html" : "application/jsonl";
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  note(`${name}, ${bytes(size)}`);
  return size;
}

// Sends a file of the reader's; what the other side answered once it had all of it. Throws an error with a hint.
export async function sent(call, file, most, note) {
  if (file.size > most) {
    throw Object.assign(
      new Error(`${file.name} has ${bytes(file.size)}; a page takes at most ${bytes(most)}.`),
      {
        hint: "Use python app.py import, which takes larger files.",
      },
    );
  }
  const { file: key, part } = await call("expect", { name: file.name, size: file.size });
  for (let start = 0; start < file.size; start += part) {
    note(`Sending ${file.name}, ${Math.round((100 * start) / file.size)} %`);
    const data = encoded(await file.slice(start, start + part).arrayBuffer());
    await call("send", { file: key, data });
  }
  note(`Checking ${file.name}`);
  return call("take_in", { file: key });
}

function decoded(text) {
  const raw = atob(text);
  const data = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) data[i] = raw.charCodeAt(i);
  return data;
}

const SLICE = 0x8000; // characters that one call can take as arguments

function encoded(buffer) {
  const data = new Uint8Array(buffer);
  let raw = "";
  for (let i = 0; i < data.length; i += SLICE) raw += String.fromCharCode(...data.subarray(i, i + SLICE));
  return btoa(raw);
}
