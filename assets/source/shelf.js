// What the session list does beyond showing: filters, star, title, tags, note, deletion with a way back, the
// demo, and how loading goes. Between source and store, beside connect.js.

const PAGE = 100;
const WARM_MS = 800;
const TYPING_MS = 120;

export const FILTERS = {
  search: "",
  rule: "",
  drafter: "",
  target: "",
  status: "",
  tag: "",
  starred: false,
  order: "newest",
};

// Whether filters leave sessions out on purpose.
export const narrowed = (filters) =>
  Object.entries(filters).some(([name, value]) => name !== "order" && Boolean(value));

// openDemo(restoring) puts the recorded session on view; null where there is none.
export function shelf(store, source, signal, guarded, openDemo) {
  const state = () => store.get();
  const set = (values) => store.dispatch({ type: "set", values });
  let asked = 0;
  let changing = 0; // changes under way
  let typing = 0;
  let away = 0;

  // An older answer never replaces a newer one.
  const refresh = () => {
    asked += 1;
    const ticket = asked;
    return guarded(async () => {
      const { sessions, ...listing } = await source.sessions(state().filters, state().shown);
      const empty = listing.all === 0;
      const demo = openDemo && (empty || source.isDemo(state().focus ?? 1)) ? await source.demoRows() : [];
      if (ticket !== asked || changing > 0) return;
      const first = state().list === null;
      store.dispatch({ type: "list", rows: [...sessions, ...demo] });
      set({ listing, listFailed: false });
      if (first && empty && demo.length > 0 && state().focus === null) openDemo(true);
    }).then((answer) => {
      if (answer === null && state().list === null) set({ listFailed: true });
    });
  };

  const row = (id) => (state().list ?? []).find((one) => one.id === id) ?? null;
  const replaceRow = (fresh) =>
    store.dispatch({
      type: "list",
      rows: (state().list ?? []).map((one) => (one.id === fresh.id ? { ...one, ...fresh } : one)),
    });

  const forget = () => {
    clearTimeout(away);
    set({ toast: null });
  };

  const line = {
    refresh,
    filter(values) {
      clearTimeout(typing);
      set({ filters: { ...state().filters, ...values }, shown: PAGE });
      return refresh();
    },
    search(text) {
      clearTimeout(typing);
      set({ filters: { ...state().filters, search: text }, shown: PAGE });
      typing = setTimeout(refresh, TYPING_MS);
    },
    clearFilters: () => line.filter({ ...FILTERS, order: state().filters.order }),
    more() {
      set({ shown: state().shown + PAGE });
      return refresh();
    },
    canChange: Boolean(source.change),
    // A list that was asked for before a change would show what is no longer so: none is taken until the last
    // change has been answered, and then it is asked for again.
    async change(id, changes) {
      changing += 1;
      asked += 1;
      const fresh = await guarded(() => source.change(id, changes));
      changing -= 1;
      if (changing === 0) {
        if (fresh) replaceRow(fresh);
        refresh();
      }
      return fresh && true;
    },
    star(id) {
      const here = row(id);
      if (!here || !source.change) return null;
      replaceRow({ id, starred: !here.starred });
      return line.change(id, { starred: !here.starred });
    },
    remove: (id) =>
      guarded(async () => {
        const { undo_s: seconds } = await source.remove(id);
        store.dispatch({ type: "list", rows: (state().list ?? []).filter((one) => one.id !== id) });
        clearTimeout(away);
        set({ toast: { text: `Session #${id} is deleted.`, undo: id, seconds } });
        away = setTimeout(forget, 1000 * Math.max(1, seconds - 1));
        refresh();
      }),
    restore: (id) =>
      guarded(async () => {
        forget();
        await source.restore(id);
        await refresh();
      }),
    reuse: source.reuse ? (id) => source.reuse(id) : null,
    sheet: (id) => set({ sheet: id }),
    forget,
    row,
  };

  // Models load beside the first session; asked until they are there.
  const warm = async () => {
    if (signal.aborted || !source.warming) return;
    const answer = await source.warming().catch(() => null);
    const message = answer?.message ?? "";
    if (message !== state().warming) set({ warming: message });
    if (message) setTimeout(warm, WARM_MS);
  };
  warm();
  signal.addEventListener("abort", () => {
    clearTimeout(typing);
    clearTimeout(away);
  });
  return line;
}

// What to say once a session's settings are in the form.
export function reusedText({ session, left_out: others }) {
  const told = `The settings of #${session} are in the form above.`;
  return others.length ? `${told} Not in it: ${others.join(", ")}.` : told;
}
