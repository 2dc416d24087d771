// How the screen looks at a session, as parameters of a link: colour, pane, rows, scale, breakpoints, search.
// Only what differs from the first look is written. Pure.

import { BREAKS } from "../time/breaks.js";
import { readLab, writeLab } from "../lab/link.js";
import { MODES } from "../inspect/modes.js";
import { cardNumber } from "../tour/cards.js";
import { presented } from "../tour/present.js";

const PANES = ["bars", "rules", "laws"];
export const ROWS = [8, 16, 32];
const FIRST = { on: ["rejection"], values: {}, all: false, pause: false };

const oneOf = (list, value, first) => (list.includes(value) ? value : first);

// { values, options, breaks } for the store; nonsense is the first look.
export function readLook(search) {
  const query = new URLSearchParams(search);
  const lab = readLab(search);
  return {
    values: {
      ...(lab ? { lab } : {}),
      pane: oneOf(PANES, query.get("pane"), "bars"),
      find: query.get("find") ?? "",
      tables: query.get("tables") === "1",
      tour: cardNumber(query.get("tour")),
      present: presented(query.get("present")),
      fault: query.get("fault"),
    },
    options: {
      mode: oneOf(Object.keys(MODES), query.get("mode"), "fate"),
      bars: oneOf(ROWS, Number(query.get("rows")), ROWS[0]),
      log: query.get("log") === "1",
      drops: query.get("drops") !== "0",
    },
    breaks: readBreaks(query),
  };
}

function readBreaks(query) {
  const text = query.get("brk");
  if (text === null) return FIRST;
  const parts = text.split(",").map((part) => part.split(":"));
  const known = parts.filter(([id]) => BREAKS[id]);
  const values = Object.fromEntries(
    known.map(([id, value]) => [id, readValue(id, value)]).filter(([, value]) => value !== undefined),
  );
  if (query.get("brktext")) values.text = query.get("brktext");
  return {
    on: known.map(([id]) => id),
    values,
    all: query.get("brkall") === "1",
    pause: query.get("brkpause") === "1",
  };
}

function readValue(id, text) {
  const rule = BREAKS[id].value;
  if (!rule || rule.text || text === undefined || text === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 && value <= rule.max ? value : undefined;
}

// name -> text, or null for what needs no word.
export function writeLook({ pane, find, tables, options, breaks, ...others }) {
  return {
    pane: pane === "bars" ? null : pane,
    mode: options.mode === "fate" ? null : options.mode,
    rows: options.bars === ROWS[0] ? null : options.bars,
    log: options.log ? 1 : null,
    drops: options.drops ? null : 0,
    find: find || null,
    tables: tables ? 1 : null,
    tour: others.tour ?? null,
    present: others.present ?? null,
    fault: others.view === "faults" ? (others.fault ?? null) : null,
    ...writeBreaks(breaks),
    ...writeLab(others.view === "lab" ? others.lab : null),
  };
}

function writeBreaks({ on, values, all, pause }) {
  const first = on.join() === FIRST.on.join();
  const changed = on.some((id) => values[id] !== undefined && id !== "text");
  const said = on.map((id) => (values[id] === undefined || id === "text" ? id : `${id}:${values[id]}`));
  return {
    brk: first && !changed && !all && !pause ? null : said.join(","),
    brktext: on.includes("text") && values.text ? values.text : null,
    brkall: all ? 1 : null,
    brkpause: pause ? 1 : null,
  };
}
