// The rounds as one canvas: a bar a round, filled as far as drafts were accepted, with a line where one was
// rejected; above them marks for breakpoints, matches and divergences. It is painted when the run has changed;
// the cursor is an element that moves over it, so that scrubbing through thousands of rounds paints nothing.

const WIDEST = 52;
const HEAD = 9; // pixels above the bars, for marks

export const pitch = (width, n) => Math.min(WIDEST, width / n);

const NAMES = ["--track", "--accepted", "--rejected", "--bonus", "--ink", "--faint", "--corrected"];

// paint(rounds, { breaks, divergences, found }, current round or null): bars on the canvas, and the marker, an
// element over it, at the current round.
export function rail(canvas, marker) {
  let painted = [];
  let [width, height] = [0, 0]; // asked of the page only when it changes: asking in mid-frame costs a layout
  new ResizeObserver(() => {
    [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (last) paint(...last);
  }).observe(canvas);
  let last = null;
  function paint(rounds, places, current) {
    last = [rounds, places, current];
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    const dark = document.body.classList.contains("dark");
    const key = [
      rounds,
      rounds.length,
      width,
      height,
      ratio,
      dark,
      places.breaks,
      places.divergences,
      places.found,
    ];
    if (!key.every((part, i) => part === painted[i])) {
      painted = key;
      const style = getComputedStyle(canvas);
      const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(name).trim()]));
      const pen = sized(canvas, width, height, ratio);
      bars(pen, rounds, width, height, colours);
      marked(pen, rounds.length, places, width, height, colours);
    }
    const step = pitch(width, rounds.length);
    marker.hidden = current === null;
    marker.style.transform = `translateX(${current * step - 1}px)`;
    marker.style.width = `${Math.max(3, step - gapOf(step) + 2)}px`;
  }
  return paint;
}

function sized(canvas, width, height, ratio) {
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

const gapOf = (step) => (step > 4 ? 1.5 : step > 2 ? 0.5 : 0);

function bars(pen, rounds, width, height, colours) {
  const step = pitch(width, rounds.length);
  const wide = Math.max(0.7, step - gapOf(step));
  const most = rounds.reduce((largest, round) => Math.max(largest, round.k), 1);
  const unit = (height - HEAD - 4) / most;
  const fill = (name, x, y, tall) => {
    pen.fillStyle = colours[name];
    pen.fillRect(x, y, wide, tall);
  };
  rounds.forEach((round, i) => {
    const x = i * step;
    fill("--track", x, height - round.k * unit, (round.k - round.accepted) * unit);
    fill("--accepted", x, height - round.accepted * unit, round.accepted * unit);
    if (round.k === 0) fill("--bonus", x, height - 3, 3);
    else if (round.accepted < round.k) fill("--rejected", x, height - round.accepted * unit - 3, 3);
    else if (round.next?.source === "bonus") fill("--bonus", x, height - round.k * unit - 4, 2.5);
  });
}

// Breakpoints are triangles, matches dots, a divergence a line through the bars with a flag.
function marked(pen, n, places, width, height, colours) {
  const step = pitch(width, n);
  const middle = (round) => round * step + Math.max(0.7, step - gapOf(step)) / 2;
  const each = (list, paint) =>
    [...new Set(list.map((place) => place.round))].forEach((round) => paint(middle(round)));
  pen.fillStyle = colours["--faint"];
  each(places.breaks, (x) => {
    pen.beginPath();
    pen.moveTo(x - 3, 0);
    pen.lineTo(x + 3, 0);
    pen.lineTo(x, 5);
    pen.fill();
  });
  pen.fillStyle = colours["--corrected"];
  each(places.found, (x) => {
    pen.beginPath();
    pen.arc(x, 3, 2.5, 0, 7);
    pen.fill();
  });
  pen.fillStyle = colours["--ink"];
  each(places.divergences, (x) => {
    pen.fillRect(x - 0.75, 0, 1.5, height);
    pen.fillRect(x, 0, 8, 4);
  });
}
