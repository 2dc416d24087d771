// A live source with a recorded session beside it, so that the first screen needs no model. Recorded sessions
// have ids of 0 and below; they are fetched when they are first looked at, and nothing can be done to them.

import { recordedSource } from "./recorded.js";

export function withDemo(live, address, fetcher = fetch) {
  let file = null;
  const demo = () => {
    file ??= fetcher(address)
      .then((answer) => {
        if (!answer.ok) throw new Error(`The demo could not be read (${answer.status}).`);
        return answer.json();
      })
      .then(recordedSource)
      .catch((error) => {
        file = null;
        throw error;
      });
    return file;
  };
  const isDemo = (id) => id <= 0;
  const either =
    (name) =>
    (id, ...rest) =>
      isDemo(id) ? demo().then((source) => source[name](id, ...rest)) : live[name](id, ...rest);
  const onlyLive =
    (name, what) =>
    (id, ...rest) =>
      isDemo(id) ? Promise.reject(unfit(what)) : live[name](id, ...rest);
  return {
    ...live,
    demo: 0,
    isDemo,
    demoRows: () =>
      demo()
        .then((source) => source.sessions({ search: "" }))
        .then(({ sessions }) => sessions),
    follow: (ids) => live.follow(ids.filter((id) => !isDemo(id))),
    head: either("head"),
    rounds: either("rounds"),
    stats: either("stats"),
    laws: either("laws"),
    position: live.position && onlyLive("position", "copied as JSON"),
    rerun: onlyLive("rerun", "re-run"),
    stop: onlyLive("stop", "stopped"),
  };
}

const unfit = (what) =>
  Object.assign(new Error(`A recorded session cannot be ${what}.`), {
    hint: "Press Run to make one of your own.",
  });
