// Between source and store: opening sessions, back-filling what a late or reloaded screen has missed,
// keeping live sessions followed. A failing call becomes the banner, never an unhandled rejection.

import { laneActions, samePlace } from "../compare/actions.js";
import { judgedLoader } from "../compare/judged.js";
import { isSession } from "../compare/lane.js";
import { needsWide, roundAt } from "./rounds.js";
import { reusedText, shelf } from "./shelf.js";
import { family, isLive } from "./store.js";

const FIRST_PAGE = 24; // what fills a screen, before the rest
const PAGE = 120;
const AROUND = 12; // rounds on either side of a place that is jumped to
const SILENCE_MS = 5000;
const LIST_MS = 3000;

// Until the page has been painted with what has just come, so that a long back-fill leaves room for the reader.
const drawn = () =>
  new Promise((done) => {
    if (globalThis.document?.hidden === false) requestAnimationFrame(() => setTimeout(done));
    else done();
  });

export function connect(store, source, signal) {
  const filling = new Set();
  const heard = new Map(); // session id -> when something last came
  const state = () => store.get();
  const watched = () =>
    [...new Set([state().focus, ...(state().view === "compare" ? state().lanes : [])])].filter(isSession);

  const guarded = async (work) => {
    try {
      return await work();
    } catch (error) {
      store.dispatch({ type: "error", error: { message: error.message, hint: error.hint ?? "" } });
      return null;
    }
  };

  const openDemo =
    source.demo === undefined
      ? null
      : (restoring = false) => {
          line.open(source.demo, { round: 0, pos: -1 }, restoring === true);
          return list.refresh();
        };
  const list = shelf(store, source, signal, guarded, openDemo);
  const { refresh } = list;

  // Fetches the rounds around a place that was asked for before they had come.
  const reach = (id, round) => {
    const key = `${id} ${round}`;
    if (filling.has(key)) return null;
    filling.add(key);
    const lo = Math.max(0, round - AROUND);
    return guarded(async () => {
      const page = await source.rounds(id, lo, Math.min(state().sessions[id].n, round + AROUND));
      store.dispatch({ type: "delta", s: id, lo, ...page });
    }).finally(() => filling.delete(key));
  };
  const reachWanted = () => {
    const { focus, want, sessions } = state();
    const session = sessions[focus];
    if (!want || !session || want.round >= session.n || want.round < session.rounds.length + FIRST_PAGE)
      return;
    if (!roundAt(session, want.round)) reach(focus, want.round);
  };
  signal.addEventListener("abort", store.subscribe(reachWanted));

  // Fetches the rows of the selected round that did not come with it, where they are shown: once, and once more
  // when the reader comes back to a round whose rows did not come.
  let widened = "";
  const widen = () => {
    const { focus, cursor, sessions } = state();
    const session = sessions[focus];
    if (!source.wide || !cursor || !session?.wide || !needsWide(state()) || session.wide.has(cursor.round))
      return;
    const key = `${focus} ${cursor.round}`;
    if (widened === key || !roundAt(session, cursor.round)) return;
    widened = key;
    guarded(async () => {
      const page = await source.wide(focus, cursor.round);
      if (page?.rounds.length)
        store.dispatch({ type: "wide", s: focus, round: page.rounds[0], pieces: page.pieces });
    });
  };
  signal.addEventListener("abort", store.subscribe(widen));

  // Fetches the rounds a session has and the screen lacks, a page at a time; the next page is on its way while
  // one is drawn.
  const fill = (id) => {
    if (filling.has(id)) return null;
    filling.add(id);
    return guarded(async () => {
      const ask = (lo) => {
        const { n } = state().sessions[id];
        if (lo >= n) return null;
        const hi = Math.min(n, lo + (lo === 0 ? FIRST_PAGE : PAGE));
        return { lo, hi, page: source.rounds(id, lo, hi) };
      };
      let coming = ask(state().sessions[id].rounds.length);
      while (coming) {
        const { lo, hi } = coming;
        const page = await coming.page;
        if (page.rounds.length === 0) return;
        const next = ask(hi);
        next?.page.catch(() => {}); // it is awaited below
        store.dispatch({ type: "delta", s: id, lo, ...page });
        await drawn();
        coming = next ?? ask(state().sessions[id].rounds.length);
      }
    }).finally(() => filling.delete(id));
  };

  const take = (update) => {
    const before = state().sessions[update.s]?.status;
    heard.set(update.s, performance.now());
    store.dispatch({ type: "delta", ...update });
    const session = state().sessions[update.s];
    if (session.rounds.length < session.n) fill(update.s);
    if (before !== session.status && (before !== undefined || isLive(session.status))) refresh();
  };

  const load = async (id) => {
    const head = await guarded(() => source.head(id));
    if (head) take({ s: id, n: head.rounds, status: head.status, head });
    else store.dispatch({ type: "delta", s: id, n: 0, status: "not loaded" });
    return head;
  };

  const followLive = () => {
    const ids = watched().filter((id) => isLive(state().sessions[id]?.status));
    if (ids.length > 0) source.follow(watched());
  };

  const judge = judgedLoader(store, source, guarded, load);
  const show = async (ids) => {
    const missing = ids.filter((id) => !state().sessions[id]?.head);
    await Promise.all(missing.map((id) => (isSession(id) ? load(id) : judge(id))));
    followLive();
  };

  const line = {
    list,
    openDemo,
    guarded,
    refresh,
    open(id, place = null, restoring = false) {
      if (state().lanes.slice(1).includes(id)) store.dispatch({ type: "set", values: { against: id } });
      if (!isSession(id)) return null; // a re-judged lane is held against the baseline, and is no session
      const cursor = place ?? samePlace(state(), id);
      const lanes = state().lanes.includes(id) ? state().lanes : [id];
      store.dispatch({ type: "lanes", ids: lanes });
      const known = state().sessions[id];
      const follow = cursor === null && (!known || isLive(known.status));
      store.dispatch({
        type: "focus",
        s: id,
        cursor: cursor ?? (follow ? null : { round: 0, pos: -1 }),
        follow,
        restoring,
      });
      return show([id]);
    },
    view(name) {
      store.dispatch({ type: "view", name });
      if (name !== "compare" || state().focus === null) return null;
      if (state().lanes.length < 2) store.dispatch({ type: "lanes", ids: family(state(), state().focus) });
      return show(state().lanes);
    },
    stop: () => guarded(() => source.stop(state().focus)),
    restore({ s, cursor, view, lanes, against = null, onlyDiffs = false }) {
      store.dispatch({ type: "view", name: view });
      if (s === null) return null;
      line.open(s, cursor, true);
      if (lanes.length > 1) store.dispatch({ type: "lanes", ids: lanes });
      store.dispatch({ type: "set", values: { against, onlyDiffs } });
      return show(lanes);
    },
  };

  line.compare = laneActions(store, source, { guarded, refresh, show });

  const hear = (message) => {
    if (message.error) store.dispatch({ type: "error", error: message.error });
    if (message.started !== undefined) {
      store.dispatch({ type: "error", error: null });
      store.dispatch({ type: "lanes", ids: [message.started] });
      store.dispatch({ type: "view", name: "inspect" });
      store.dispatch({ type: "focus", s: message.started });
      refresh();
      show([message.started]);
    }
    if (message.reused)
      store.dispatch({ type: "set", values: { toast: { text: reusedText(message.reused) }, sheet: null } });
    (message.updates ?? []).forEach(take);
  };
  signal.addEventListener("abort", source.subscribe(hear));

  // A live session that has gone quiet: its line may have been cut (a sleeping laptop, a second tab).
  const watchdog = setInterval(() => {
    const quiet = watched().some(
      (id) => isLive(state().sessions[id]?.status) && performance.now() - (heard.get(id) ?? 0) > SILENCE_MS,
    );
    if (!quiet) return;
    watched().forEach((id) => heard.set(id, performance.now()));
    followLive();
  }, SILENCE_MS / 2);
  const listing = setInterval(() => {
    if ((state().list ?? []).some((row) => isLive(row.status))) refresh();
  }, LIST_MS);
  signal.addEventListener("abort", () => [watchdog, listing].forEach(clearInterval));

  refresh();
  guarded(async () => store.dispatch({ type: "choices", choices: await source.choices() }));
  return line;
}
