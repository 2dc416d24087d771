// A source that is a running Draftscope: deltas come through the component's value, the rest by calls.

// props, server and watch are as Gradio hands them to a component; follow(ids) asks for deltas of sessions,
// reuse(id) for a session's settings in the form.
export function liveSource({ props, server, watch, follow, reuse, plotly }) {
  const listeners = new Set();
  let last = null;
  const take = () => {
    if (!props.value || props.value === last) return;
    last = props.value;
    const message = JSON.parse(last);
    listeners.forEach((listener) => listener(message));
  };
  watch("value", take);
  const call = async (name, ...values) => {
    const answer = JSON.parse(await server[name](...values));
    if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer;
  };
  return {
    subscribe(listener) {
      listeners.add(listener);
      take();
      return () => listeners.delete(listener);
    },
    follow,
    head: (id) => call("head", { session: id }),
    rounds: (id, lo, hi) => call("rounds", { session: id, lo, hi }),
    wide: (id, round) => call("wide", { session: id, round }), // that round with every row a screen can show
    sessions: (filters, limit) => call("sessions", { filters, limit }),
    change: (id, changes) => call("change", { session: id, changes }),
    remove: (id) => call("remove", { session: id }),
    restore: (id) => call("restore", { session: id }),
    reuse,
    plotly,
    warming: () => call("warming", {}),
    stats: (id) => call("stats", { session: id }),
    verifyForm: () => call("verify_form", {}),
    verify: (form) => call("verify", { form }),
    verification: (number) => call("verification", { verification: number }),
    stopVerification: (number) => call("stop_verification", { verification: number }),
    choices: () => call("choices", {}),
    rerun: (id, lanes) => call("rerun", { session: id, lanes }),
    rejudged: (id, lanes) => call("rejudged", { session: id, lanes }),
    compared: (ids) => call("compared", { sessions: ids }),
    laws: (id, round, pos) => call("laws", { session: id, round, pos }),
    position: (id, round, pos) => call("position", { session: id, round, pos }),
    stop: (id) => call("stop", { session: id }),
    lab: {
      check: (question) => call("lab_law", question),
      temperatures: () => call("lab_temperatures", {}),
    },
    tokens: (id, text) => call("tokens", { session: id, text }),
    branch: (id, position, token, budget) =>
      call("branch", { session: id, position, token, max_tokens: budget }),
    storage: () => call("storage", {}),
    sql: (query) => call("sql", { query }),
    seeds: {
      begin: (asked) => call("seeds_begin", { asked }),
      look: (comparison) => call("seeds_look", { comparison }),
      stop: (comparison) => call("seeds_stop", { comparison }),
    },
    exportFile: (asked) => call("export", asked), // { sessions, children, kind }
    fetchFile: (file, start) => call("fetch", { file, start }),
    sendFile: call, // "expect", "send" and "take_in", in that order
  };
}
