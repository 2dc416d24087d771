// What the Data view and the branch line can do, as far as the source can: each call's failure becomes the banner,
// or, where it has a place of its own to be said, an error that is thrown on.

import { save, sent } from "./transfer.js";

export function dataActions(store, source, line) {
  return {
    tokens: source.tokens,
    branch: source.branch && ((...asked) => branch(store, source, line, ...asked)),
    data: source.storage && { storage: source.storage, sql: source.sql },
    exportFile: source.exportFile && ((asked, note) => line.guarded(() => save(source, asked, note))),
    importFile: source.sendFile && ((file, most, note) => imported(source, line, file, most, note)),
    seeds: source.seeds,
  };
}

// Goes on from a session with another token and opens what comes of it, beside its parent in Compare.
async function branch(store, source, line, parent, position, token, budget) {
  const answer = await line.guarded(() => source.branch(parent, position, token, budget));
  if (!answer) return null;
  store.dispatch({ type: "lanes", ids: [parent, answer.session] });
  line.refresh();
  await line.open(answer.session);
  return answer.session;
}

async function imported(source, line, file, most, note) {
  const { sessions } = await sent(source.sendFile, file, most, note);
  line.refresh();
  return sessions;
}
