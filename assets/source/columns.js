// Columns back into lists of objects: the way back of inspector/standalone/columns.py, which says what the letters
// mean.

export function unpacked([kind, first, ...rest]) {
  if (kind === "v") return first;
  if (kind === "d") return first.map((exponent, i) => Number(`${rest[0][i]}e${-exponent}`));
  if (kind === "n") return spread(first, unpacked(rest[0]));
  if (kind === "t") return turned(first, rest.map(unpacked));
  if (kind === "l") return divided(first, unpacked(rest[0]));
  const objects = Array.from({ length: first }, () => ({}));
  for (const [key, [where, values]] of Object.entries(rest[0])) {
    const holders = where === 0 ? objects : objects.filter((_, i) => where[i]);
    unpacked(values).forEach((value, i) => (holders[i][key] = value));
  }
  return objects;
}

function spread(there, values) {
  let at = 0;
  return there.map((one) => (one ? values[at++] : null));
}

const turned = (n, columns) => Array.from({ length: n }, (_, i) => columns.map((column) => column[i]));

function divided(lengths, values) {
  let at = 0;
  return lengths.map((length) => values.slice(at, (at += length)));
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";
const VALUE = new Map([...DIGITS].map((digit, i) => [digit.charCodeAt(0), i]));

// Bytes from base 85, five digits for four bytes; the last group may be short.
export function bytesOf(text) {
  const whole = text.padEnd(5 * Math.ceil(text.length / 5), "~");
  const view = new DataView(new ArrayBuffer((4 * whole.length) / 5));
  for (let i = 0; i < whole.length; i += 5) {
    let value = 0;
    for (let j = i; j < i + 5; j += 1) value = 85 * value + VALUE.get(whole.charCodeAt(j));
    view.setUint32((4 * i) / 5, value);
  }
  return new Uint8Array(view.buffer, 0, view.byteLength - (whole.length - text.length));
}

// The text that inspector/standalone/columns.py has deflated.
export async function inflated(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
