// A live source with a recorded session beside it, so that the first screen needs no model. Recorded sessions
// have ids of 0 and below; they are fetched when they are first looked at, and nothing can be done to them.

import { recordedSource } from "./recorded.js";

// The files beside the demo's own: the tour's sessions have ids of -10 and below, and other files by name hold no
// sessions.
const TOUR = -10;

export function withDemo(live, address, fetcher = fetch) {
  const folder = address.slice(0, address.lastIndexOf("/") + 1);
  const files = new Map();
  // A file is fetched once, and again only if that failed.
  const recording = (name) => {
    if (!files.has(name)) files.set(name, fetched(fetcher, folder + name).catch(forget(name)));
    return files.get(name);
  };
  const forget = (name) => (error) => {
    files.delete(name);
    throw error;
  };
  const demo = (id = 0) => recording(id <= TOUR ? "tour.json" : "demo.json").then(recordedSource);
  const isDemo = (id) => id <= 0;
  const either =
    (name) =>
    (id, ...rest) =>
      isDemo(id) ? demo(id).then((source) => source[name](id, ...rest)) : live[name](id, ...rest);
  const onlyLive =
    (name, what) =>
    (id, ...rest) =>
      isDemo(id) ? Promise.reject(unfit(what)) : live[name](id, ...rest);
  const recordedLaws = async (...place) => {
    const { laws } = await recording("tour.json");
    const found = laws[place.join("/")];
    if (!found)
      throw new Error("The recording does not hold the laws of this place; the tour's places have them.");
    return found;
  };
  const recordedLines = async (ids) => {
    const found = await Promise.all(
      [...new Set(ids.map((id) => id <= TOUR))].map((tour) => demo(tour ? TOUR : 0)),
    );
    const tables = await Promise.all(found.map((source) => source.compared(ids)));
    const columns = tables.find((table) => table.columns.length > 0)?.columns ?? [];
    return { columns, lines: tables.flatMap(({ lines }) => lines) };
  };
  return {
    ...live,
    demo: 0,
    isDemo,
    recording,
    demoRows: () =>
      demo()
        .then((source) => source.sessions({ search: "" }))
        .then(({ sessions }) => sessions),
    follow: (ids) => live.follow(ids.filter((id) => !isDemo(id))),
    head: either("head"),
    rounds: either("rounds"),
    stats: either("stats"),
    laws: (id, ...place) => (isDemo(id) ? recordedLaws(id, ...place) : live.laws(id, ...place)),
    position: live.position && onlyLive("position", "copied as JSON"),
    wide: live.wide && ((id, round) => (isDemo(id) ? null : live.wide(id, round))),
    rerun: onlyLive("rerun", "re-run"),
    rejudged: onlyLive("rejudged", "re-judged"),
    compared: (ids) => (isDemo(ids[0]) ? recordedLines(ids) : live.compared(ids)),
    stop: onlyLive("stop", "stopped"),
  };
}

async function fetched(fetcher, address) {
  const answer = await fetcher(address);
  if (!answer.ok) throw new Error(`The demo could not be read (${answer.status}).`);
  return answer.json();
}

const unfit = (what) =>
  Object.assign(new Error(`A recorded session cannot be ${what}.`), {
    hint: "Press Run to make one of your own.",
  });
