// The rounds of a session as they come: a log in order, and those that came before the ones in front of them.

// Puts rounds where they belong: behind those there are, or ahead of them until the gap is closed. What has
// joined the log, in order.
export function arrived(session, rounds) {
  const log = session.rounds;
  const before = log.length;
  for (const round of rounds) {
    if (round.i === log.length) log.push(round);
    else if (round.i > log.length) session.ahead.set(round.i, round);
  }
  while (session.ahead.has(log.length)) log.push(session.ahead.get(log.length));
  for (let i = before; session.ahead.size > 0 && i < log.length; i += 1) session.ahead.delete(i);
  return log.slice(before);
}

// A round of a session, with all its rows where they have been asked for; null where it has not come yet.
export const roundAt = (session, i) =>
  session.wide?.get(i) ?? session.rounds[i] ?? session.ahead?.get(i) ?? null;

// Whether what is on view needs more rows of the selected round than came with it.
export const needsWide = ({ options, suppose, stage }) =>
  options.bars > FIRST_ROWS || suppose !== null || stage !== null;

const FIRST_ROWS = 8; // as many as inspector/view_model.py sends of each round
