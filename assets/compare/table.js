// The comparison as a table: which lanes are best, and the same as CSV and Markdown. Pure, and the same as
// engine/core/lane_summary.best and inspector/lane_tables.py; a test holds the two together.

// column id -> { lanes: [index], why }, for columns that have a better end. Best is who is at that end with an
// interval apart from every lane of another value.
export function best(columns, lines) {
  return Object.fromEntries(
    columns
      .filter(({ better }) => better)
      .map(({ id, better }) => [
        id,
        bestIn(
          lines.map((line) => line?.cells?.[id] ?? null),
          better,
        ),
      ]),
  );
}

function bestIn(cells, better) {
  const there = [...cells.keys()].filter((i) => (cells[i]?.value ?? null) !== null);
  if (there.length < 2) return { lanes: [], why: "" };
  const values = there.map((i) => cells[i].value);
  const end = better === "high" ? Math.max(...values) : Math.min(...values);
  const first = there.filter((i) => cells[i].value === end);
  const others = there.filter((i) => cells[i].value !== end);
  if (others.length === 0) return { lanes: [], why: "all lanes are equal here" };
  if (first.some((i) => others.some((j) => overlap(cells[i], cells[j]))))
    return { lanes: [], why: "the intervals overlap, so none is marked" };
  return { lanes: first, why: "" };
}

const reach = ({ value, low, high }) => (low === null ? [value, value] : [low, high]);

function overlap(a, b) {
  const [lowA, highA] = reach(a);
  const [lowB, highB] = reach(b);
  return lowA <= highB && lowB <= highA;
}

// One row a lane, with every digit: a cell is a number, its interval has columns of its own.
export function asCsv(columns, lines) {
  const names = [
    "lane",
    "session",
    "mode",
    "rule",
    "params",
    "drafter",
    "k",
    "seed",
    "status",
    "watermark",
    "rounds",
    "tokens",
  ];
  const measured = columns.flatMap(({ id }) => [id, `${id}_low`, `${id}_high`]);
  const rows = lines.map((line, i) => [
    i,
    line.session,
    line.mode,
    line.rule,
    params(line),
    line.drafter,
    line.k,
    line.seed ?? "",
    line.status,
    line.watermark ?? "",
    line.rounds,
    line.emitted,
    ...columns.flatMap(({ id }) => ["value", "low", "high"].map((part) => digits(line.cells[id][part]))),
    line.lengths.join(" "),
  ]);
  return (
    [[...names, ...measured, "rounds_by_accepted"], ...rows]
      .map((row) => row.map(field).join(","))
      .join("\r\n") + "\r\n"
  );
}

// Numbers as both languages write them, to twelve digits.
const digits = (value) => (value === null ? "" : String(Number(value.toPrecision(12))));

const params = (line) =>
  Object.entries(line.params)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

// A text that a spreadsheet takes as a formula begins with one of these; a quote in front keeps it a text.
function field(value) {
  const text = String(value);
  const safe =
    typeof value === "string" && /^[=+@\t\r-]/.test(text) && !/^-?[\d.]+(e[+-]?\d+)?$/.test(text)
      ? `'${text}`
      : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// One row a number, one column a lane, the baseline first; the best in bold.
export function asMarkdown(columns, lines, names) {
  const marks = best(columns, lines);
  const rows = columns.map((column) => [
    column.title,
    ...lines.map((line, i) => bold(written(line.cells[column.id]), marks[column.id]?.lanes.includes(i))),
  ]);
  rows.push(["rounds by accepted drafts", ...lines.map((line) => line.lengths.join(" "))]);
  const notes = columns
    .filter(({ id }) => marks[id]?.why)
    .map(({ id, title }) => `- ${title}: ${marks[id].why}`);
  return [
    row([
      "",
      ...names.map(
        (name, i) => `${name} (${lines[i].mode === "rejudge" ? "re-judged" : `#${lines[i].session}`})`,
      ),
    ]),
    row(["---", ...lines.map(() => "---")]),
    ...rows.map(row),
    "",
    "Bold: best, with an interval apart from all others; intervals at 95 %, within one session each.",
    ...notes,
    ...lines.flatMap((line, i) => (line.watermark ? [`- ${names[i]}: ${line.watermark}`] : [])),
    "",
  ].join("\n");
}

const row = (cells) => `| ${cells.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
const bold = (text, yes) => (yes ? `**${text}**` : text);

// "0.5123 [0.4012, 0.6234]"; n/a where there is none.
export function written({ value, low, high }) {
  if (value === null) return "n/a";
  return low === null ? four(value) : `${four(value)} [${four(low)}, ${four(high)}]`;
}

function four(value) {
  const size = Math.abs(value);
  return value !== 0 && size < 1e-4 ? value.toExponential(1) : value.toFixed(4);
}
