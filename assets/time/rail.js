// The rounds as one canvas: a bar a round, filled as far as drafts were accepted, with a line where one was
// rejected; above them marks for breakpoints, matches and divergences. A new round adds its bar and its marks to
// what is there, at the same cost however long the run is; the cursor is an element that moves over the canvas,
// so that scrubbing through thousands of rounds paints nothing.

const WIDEST = 52;
const HEAD = 9; // pixels above the bars, for marks
const SPARE = 1.3; // how much room a rail that is full makes for what is to come

// The places of a rail: one a round; while a run goes on, some more, so that a bar seldom has to move.
export function slots(width, n, growing) {
  if (!growing) return Math.max(1, n);
  let room = Math.max(1, Math.floor(width / WIDEST));
  while (room < n) room = Math.ceil(room * SPARE);
  return room;
}

export const pitch = (width, places) => Math.min(WIDEST, width / places);

const NAMES = ["--track", "--accepted", "--rejected", "--bonus", "--ink", "--faint", "--corrected"];

// paint({ rounds, n, growing, places, look }, current round or null): bars on the canvas, and the marker, an
// element over it, at the current round. `places` is { breaks, divergences, found }; what is in `look` (what the
// places depend on) starts the painting anew when it changes.
export function rail(canvas, marker) {
  let painted = { key: [], bars: 0, most: 1, breaks: 0, found: 0 };
  let [width, height] = [0, 0]; // asked of the page only when it changes: asking in mid-frame costs a layout
  let last = null;
  new ResizeObserver(() => {
    [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (last) paint(...last);
  }).observe(canvas);

  function paint(run, current) {
    last = [run, current];
    if (!width) return;
    const { rounds, places } = run;
    const room = slots(width, run.n, run.growing);
    const ratio = window.devicePixelRatio || 1;
    const dark = document.body.classList.contains("dark");
    const most = tallest(rounds, painted, painted.key[0] === rounds);
    const key = [rounds, room, width, height, ratio, dark, most, places.divergences, ...run.look];
    const same = key.length === painted.key.length && key.every((part, i) => part === painted.key[i]);
    if (!same || rounds.length < painted.bars) {
      sized(canvas, width, height, ratio);
      painted = { key, bars: 0, most, breaks: 0, found: 0 };
    }
    add(run, room, most);
    const step = pitch(width, room);
    marker.hidden = current === null;
    marker.style.transform = `translateX(${current * step - 1}px)`;
    marker.style.width = `${Math.max(3, step - gapOf(step) + 2)}px`;
  }

  // Bars and marks that are not there yet.
  function add({ rounds, places }, room, most) {
    const { breaks, divergences, found } = places;
    const fresh =
      rounds.length - painted.bars + breaks.length - painted.breaks + found.length - painted.found;
    if (fresh <= 0) return;
    const style = getComputedStyle(canvas);
    const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(name).trim()]));
    const pen = canvas.getContext("2d");
    const size = { step: pitch(width, room), unit: (height - HEAD - 4) / most, height, colours };
    const first = painted.bars === 0;
    for (let i = painted.bars; i < rounds.length; i += 1) bar(pen, rounds[i], i, size);
    const parts = first ? divergences : divergences.filter(({ round }) => round >= painted.bars);
    marked(
      pen,
      { breaks: breaks.slice(painted.breaks), divergences: parts, found: found.slice(painted.found) },
      size,
    );
    painted = { ...painted, bars: rounds.length, breaks: breaks.length, found: found.length };
  }
  return paint;
}

// The most drafts of any round; of a log that has grown, the new rounds alone are looked at.
function tallest(rounds, { bars, most }, grown) {
  let found = grown ? most : 1;
  for (let i = grown ? bars : 0; i < rounds.length; i += 1) found = Math.max(found, rounds[i].k);
  return found;
}

function sized(canvas, width, height, ratio) {
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.getContext("2d").scale(ratio, ratio);
}

const gapOf = (step) => (step > 4 ? 1.5 : step > 2 ? 0.5 : 0);

const wideOf = (step) => Math.max(0.7, step - gapOf(step));

function bar(pen, round, i, { step, unit, height, colours }) {
  const [x, wide] = [i * step, wideOf(step)];
  const fill = (name, y, tall) => {
    pen.fillStyle = colours[name];
    pen.fillRect(x, y, wide, tall);
  };
  fill("--track", height - round.k * unit, (round.k - round.accepted) * unit);
  fill("--accepted", height - round.accepted * unit, round.accepted * unit);
  if (round.k === 0) fill("--bonus", height - 3, 3);
  else if (round.accepted < round.k) fill("--rejected", height - round.accepted * unit - 3, 3);
  else if (round.next?.source === "bonus") fill("--bonus", height - round.k * unit - 4, 2.5);
}

// Breakpoints are triangles, matches dots, a divergence a line through the bars with a flag.
function marked(pen, places, { step, height, colours }) {
  const middle = (round) => round * step + wideOf(step) / 2;
  const each = (name, list, paint) => {
    pen.fillStyle = colours[name];
    [...new Set(list.map((place) => place.round))].forEach((round) => paint(middle(round)));
  };
  each("--faint", places.breaks, (x) => {
    pen.beginPath();
    pen.moveTo(x - 3, 0);
    pen.lineTo(x + 3, 0);
    pen.lineTo(x, 5);
    pen.fill();
  });
  each("--corrected", places.found, (x) => {
    pen.beginPath();
    pen.arc(x, 3, 2.5, 0, 7);
    pen.fill();
  });
  each("--ink", places.divergences, (x) => {
    pen.fillRect(x - 0.75, 0, 1.5, height);
    pen.fillRect(x, 0, 8, 4);
  });
}
