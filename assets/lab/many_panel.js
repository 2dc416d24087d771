// Many texts at once: the first tokens as a histogram against p, and the chi-square of singles and of pairs as it runs.

import { button, el, replace, setText, svg, tableHead } from "../parts/dom.js";
import { count, decimal, percent } from "../parts/format.js";
import { ALPHA } from "./chi_square.js";
import { at } from "./slide.js";
import { addTexts, emptyTally, note, tested } from "./tally.js";

const AMOUNTS = [1, 100, 10000];
const SLICE_MS = 12; // work between two frames
const POINTS = 25; // of the running chi-square, per press

const spaced = (n) => n.toLocaleString("en").replaceAll(",", " ");

export function manyPanel(lab) {
  const buttons = AMOUNTS.map((n) =>
    button(`${spaced(n)} ${n === 1 ? "text" : "texts"}`, { "data-texts": n, onclick: () => draw(n) }),
  );
  const over = button("Start over", { class: "ds-button is-quiet", onclick: () => reset() });
  const drawn = el("b", { class: "ds-lab-drawn", role: "status" });
  const progress = el("progress", {
    class: "ds-progress",
    max: 1,
    hidden: true,
    "aria-label": "Texts drawn",
  });
  const histogram = el("div", { class: "ds-lab-hist" });
  const grid = el("div", { class: "ds-lab-pairs" });
  const tests = el("div", { class: "ds-lab-tests" });
  const track = el("div", { class: "ds-lab-track" });
  const words = el("p", { class: "ds-lab-verdict", role: "status" });
  const root = el(
    "section",
    { class: "ds-panel ds-lab-panel is-marked", id: "ds-lab-many", "aria-label": "Many texts" },
    el(
      "header",
      { class: "ds-head" },
      el("h2", {}, "Many texts at once"),
      el(
        "p",
        { class: "ds-facts" },
        "the first two tokens of texts under the seeds from this one on; the first text is the one above",
      ),
    ),
    el("div", { class: "ds-lab-tools" }, buttons, over, drawn, progress),
    el(
      "div",
      { class: "ds-lab-manygrid" },
      el("div", {}, el("h3", {}, "First tokens: drawn, against p with two standard deviations"), histogram),
      el("div", {}, el("h3", {}, "Pairs: how far each is from its expectation"), grid),
      el("div", {}, el("h3", {}, "Chi-square: could this be chance?"), tests, track),
    ),
    words,
  );
  let tally = null;
  let about = "";
  let frame = 0;
  let target = 0; // draw until so many texts
  let every = 1; // texts between two points of the track

  function reset() {
    cancelAnimationFrame(frame);
    frame = 0;
    tally = emptyTally(lab.get().p.length);
    target = 0;
    show();
  }

  function draw(more) {
    target = Math.max(target, tally.n) + more;
    every = Math.max(1, Math.ceil(more / POINTS));
    frame ||= requestAnimationFrame(work);
  }

  function work() {
    frame = 0;
    const state = lab.get();
    const end = performance.now() + SLICE_MS;
    while (tally.n < target && performance.now() < end) {
      addTexts(tally, lab.rule(), state, Math.min(20, every, target - tally.n));
      if (tally.n % every === 0 || tally.n === target) note(tally, state.p);
    }
    show();
    if (tally.n < target) frame = requestAnimationFrame(work);
  }

  function show() {
    const state = lab.get();
    const busy = tally.n < target;
    progress.hidden = !busy;
    progress.value = target ? tally.n / target : 0;
    over.disabled = tally.n === 0;
    setText(drawn, tally.n ? `${spaced(tally.n)} drawn` : "");
    const found = tested(tally, state.p);
    replace(histogram, histogramOf(state, tally));
    replace(grid, pairGrid(state, tally));
    replace(tests, testsTable(found, tally.n));
    replace(track, tally.track.length > 1 ? trackOf(tally.track) : []);
    setText(words, busy ? "" : sentence(found, tally.n, lab));
    words.classList.toggle("is-off", !busy && failed(found));
  }

  return {
    root,
    render(state) {
      const { p, q, k, rule, params, seed } = state;
      const key = JSON.stringify([p, q, k, rule, params, seed]);
      const named = state.names.join("\n");
      if (key !== about) {
        about = key;
        reset();
      } else if (named !== root.dataset.names) show();
      root.dataset.names = named;
    },
  };
}

// Below this a p-value says no more than that it is small.
const chance = (p) => (p < 1e-30 ? "< 10⁻³⁰" : decimal(p));

const failed = ({ singles, pairs, outside }) => outside > 0 || singles.p < ALPHA || pairs.p < ALPHA;

function histogramOf({ names, p }, { n, singles }) {
  const share = (i) => (n ? singles[i] / n : 0);
  const sigma = (i) => (n ? Math.sqrt((p[i] * (1 - p[i])) / n) : 0);
  const top = Math.max(
    ...p.map((want, i) => Math.max(share(i), n ? Math.min(1, want + 2 * sigma(i)) : want)),
  );
  return names.map((name, i) => {
    const off = n > 0 && Math.abs(share(i) - p[i]) > 2 * sigma(i);
    const [low, high] = [Math.max(0, p[i] - 2 * sigma(i)), Math.min(1, p[i] + 2 * sigma(i))];
    return el(
      "div",
      { class: `ds-lab-lawrow${off ? " is-off" : ""}` },
      el("span", { class: "ds-lab-token" }, name),
      el(
        "div",
        { class: "ds-lab-bar is-flat" },
        el("i", { class: "ds-lab-fill is-drawn", style: { width: at(share(i) / top) } }),
        n
          ? el("i", { class: "ds-lab-sigma", style: { left: at(low / top), width: at((high - low) / top) } })
          : null,
        el("i", { class: "ds-lab-want", style: { left: at(p[i] / top) } }),
      ),
      el("span", { class: "ds-number" }, n ? percent(share(i)) : "–"),
      el("span", { class: "ds-number is-q" }, `p ${percent(p[i])}`),
    );
  });
}

// A square a pair: the first token down, the second across, coloured by standard deviations from n p(a) p(b).
function pairGrid({ names, p }, { n, pairs }) {
  const v = names.length;
  const cell = (a, b) => {
    const want = n * p[a] * p[b];
    const got = pairs[a * v + b];
    const z = want > 0 ? (got - want) / Math.sqrt(want * (1 - p[a] * p[b]) || 1) : got > 0 ? 99 : 0;
    const title = `${names[a]} ${names[b]}: ${got} times, ${decimal(want)} expected, ${z >= 0 ? "+" : "−"}${Math.abs(z).toFixed(1)} standard deviations`;
    const kind = !n || Math.abs(z) <= 2 ? "" : z > 0 ? "is-more" : "is-less";
    return el(
      "td",
      { class: kind, title },
      n ? `${z < 0 ? "−" : "+"}${Math.min(99, Math.abs(z)).toFixed(1)}` : "",
    );
  };
  return el(
    "table",
    { class: "ds-lab-pairtable" },
    tableHead(["", ...names]),
    el(
      "tbody",
      {},
      names.map((name, a) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          names.map((_, b) => cell(a, b)),
        ),
      ),
    ),
  );
}

function testsTable({ singles, pairs, outside }, n) {
  const row = (name, test) =>
    el(
      "tr",
      { "data-test": name },
      el("th", { scope: "row" }, name),
      el("td", {}, n ? `${test.statistic.toFixed(1)} on ${test.dof}` : "–"),
      el("td", {}, n ? chance(test.p) : "–"),
      el("td", { class: test.p < ALPHA ? "is-off" : null }, n ? (test.p < ALPHA ? "off" : "fits") : "–"),
    );
  return [
    el(
      "table",
      { class: "ds-table" },
      tableHead(["", "chi-square", "p-value", "says"]),
      el("tbody", {}, row("singles", singles), row("pairs", pairs)),
    ),
    outside
      ? el(
          "p",
          { class: "ds-lab-verdict is-off" },
          `${count(outside, "text")} held a token that p never gives.`,
        )
      : null,
  ];
}

// p-values over the texts drawn, on a logarithmic scale; below the line a right rule falls once in ten thousand.
function trackOf(points) {
  const [width, height, least] = [260, 84, -8];
  const x = (n) => (n / points[points.length - 1].n) * width;
  const y = (p) => (Math.max(least, Math.log10(Math.max(p, 1e-300))) / least) * (height - 6) + 3;
  const line = (name) =>
    svg("polyline", {
      class: `ds-lab-curve is-${name}`,
      points: points.map((point) => `${x(point.n).toFixed(1)},${y(point[name]).toFixed(1)}`).join(" "),
    });
  const limit = y(ALPHA);
  return [
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "p-values as texts were drawn" },
      svg("rect", { class: "ds-lab-danger", x: 0, y: limit, width, height: height - limit }),
      svg("line", { class: "ds-lab-limit", x1: 0, x2: width, y1: limit, y2: limit }),
      line("singles"),
      line("pairs"),
    ),
    el(
      "p",
      { class: "ds-hint ds-lab-legend" },
      el("i", { class: "is-singles" }),
      "singles ",
      el("i", { class: "is-pairs" }),
      "pairs; in the shaded part a right rule ends once in 10 000",
    ),
  ];
}

function sentence(found, n, lab) {
  if (n === 0) return "Nothing drawn yet.";
  const { singles, pairs, outside } = found;
  const law = lab.law().tv;
  const single = singles.p < ALPHA;
  const pair = pairs.p < ALPHA;
  if (outside) return "Caught: a token came out that the target never says.";
  if (!single && pair)
    return "Single tokens pass; look at the pairs. They come in the wrong company: whoever tests single tokens alone finds nothing.";
  if (single) return `Caught: ${spaced(n)} texts of a right rule look like this less than once in 10 000.`;
  if (law.pair < 1e-12)
    return `No sign of anything wrong in ${count(n, "text")}, and there is nothing wrong.`;
  return `Not caught yet: the law is off by TV ${decimal(Math.max(law.single, law.pair))}, which takes more texts to see. Draw more.`;
}
