// A handle on a line from 0 to 1, for the pointer and the keyboard: bars, darts and the temperature all move so.

const FINE = 0.01;
const COARSE = 0.1;

// Makes `handle` a slider on `line`. moved(value) is called with where it was put, moved(null) puts it back.
// `fine` is how far an arrow key goes. Returns say(value, words): what the handle says of itself.
export function slidable(line, handle, label, moved, { max = 1, fine = FINE } = {}) {
  let now = 0;
  const attributes = { role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-valuemax": String(max) };
  Object.entries(attributes).forEach(([name, value]) => handle.setAttribute(name, value));
  handle.setAttribute("aria-label", label);
  const put = (value) => {
    now = Math.min(Math.max(value, 0), max); // at once: the next key may come before the next frame
    moved(now);
  };
  const follow = (event) => {
    const box = line.getBoundingClientRect();
    put((event.clientX - box.left) / box.width);
  };
  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || line.hasAttribute("data-still")) return;
    event.preventDefault();
    line.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    follow(event);
  });
  line.addEventListener("pointermove", (event) => {
    if (line.hasPointerCapture(event.pointerId)) follow(event);
  });
  handle.addEventListener("keydown", (event) => {
    const to = keyed(now, max, fine, event);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === null) moved(null);
    else put(to);
  });
  return (value, words) => {
    now = value;
    handle.setAttribute("aria-valuenow", value.toFixed(4));
    handle.setAttribute("aria-valuetext", words);
  };
}

// Where a key moves the handle; null puts it back, undefined is no key of it.
function keyed(now, max, fine, { key, shiftKey }) {
  const by = shiftKey ? COARSE : fine;
  if (key === "Escape") return null;
  if (key === "Home") return 0;
  if (key === "End") return max;
  const step = {
    ArrowLeft: -by,
    ArrowDown: -by,
    ArrowRight: by,
    ArrowUp: by,
    PageDown: -COARSE,
    PageUp: COARSE,
  }[key];
  return step === undefined ? undefined : now + step;
}

export const at = (value) => `${(100 * Math.min(1, Math.max(0, value))).toFixed(3)}%`;
