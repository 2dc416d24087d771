// Answers of a SQL question as something else: places that can be opened, and CSV. Pure.

const SESSIONS = new Set(["session", "session_id", "sessions_id", "parent", "parent_id", "rerun", "child"]);

// The place a cell leads to: { session, cursor }, or null. A round's number leads into the session of its row.
export function opens(columns, row, i) {
  const name = columns[i].toLowerCase();
  if (SESSIONS.has(name)) {
    const session = id(row[i]);
    return session === null ? null : { session, cursor: null };
  }
  if (name !== "round") return null;
  const of = columns.findIndex((one) => ["session", "session_id"].includes(one.toLowerCase()));
  const session = of < 0 ? null : id(row[of]);
  const round = whole(row[i]);
  return session === null || round === null ? null : { session, cursor: { round, pos: -1 } };
}

// A whole number, also in a text that is indented by its depth in a tree.
const whole = (value) => (/^\s*\d{1,15}\s*$/.test(String(value)) ? Number(value) : null);
const id = (value) => (whole(value) > 0 ? whole(value) : null);

// RFC 4180: a cell with a comma, a quote or a newline stands in quotes; null is empty.
export const csv = ({ columns, rows }) =>
  [columns, ...rows].map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";

function csvCell(value) {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
