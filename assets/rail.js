// The rounds as one canvas: a bar a round, filled as far as drafts were accepted, with a line where one was
// rejected; above them marks for breakpoints, matches and divergences. The bars are painted once for a state
// of the run and kept; moving the cursor paints them from that copy.

const WIDEST = 52;
const HEAD = 9; // pixels above the bars, for marks

export const pitch = (width, n) => Math.min(WIDEST, width / n);

const NAMES = ["--track", "--accepted", "--rejected", "--bonus", "--ink", "--faint", "--corrected"];

// paint(rounds, { breaks, divergences, found }, current round or null) on the canvas.
export function rail(canvas) {
  const kept = document.createElement("canvas");
  let under = [];
  let over = [];
  return (rounds, places, current) => {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
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
    const fresh = !key.every((part, i) => part === under[i]);
    if (!fresh && over[0] === current) return;
    if (fresh) {
      under = key;
      const style = getComputedStyle(canvas);
      const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(name).trim()]));
      const pen = sized(kept, width, height, ratio);
      bars(pen, rounds, width, height, colours);
      marked(pen, rounds.length, places, width, height, colours);
      over = [null, colours["--ink"]];
    }
    const pen = sized(canvas, width, height, ratio);
    pen.drawImage(kept, 0, 0, width, height);
    over[0] = current;
    if (current === null) return;
    const step = pitch(width, rounds.length);
    pen.strokeStyle = over[1];
    pen.lineWidth = 1.5;
    pen.strokeRect(current * step - 1, HEAD - 2.25, Math.max(3, step - gapOf(step) + 2), height - HEAD + 1.5);
  };
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
