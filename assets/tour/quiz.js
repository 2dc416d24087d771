// "Which fault is this?": a question is a case without its name and four names, the right one among them. Pure but
// for the dice it is given.

// Faults whose numbers look the same are never offered together.
const ALIKE = [["unfiltered-q", "fault-raw-q"]];
const OPTIONS = 4;

export const FRESH = { asked: 0, right: 0, id: null, options: [], answer: null };

const alike = (a, b) => ALIKE.some((pair) => pair.includes(a) && pair.includes(b));

function shuffled(list, dice) {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i -= 1) {
    const j = Math.floor(dice() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

// The next question; never the one just asked.
export function ask(quiz, ids, dice = Math.random) {
  const [id, ...others] = shuffled(
    ids.filter((one) => one !== quiz.id),
    dice,
  );
  const options = others.reduce(
    (chosen, one) =>
      chosen.length === OPTIONS || chosen.some((other) => alike(one, other)) ? chosen : [...chosen, one],
    [id],
  );
  return { ...quiz, id, options: shuffled(options, dice), answer: null };
}

// A first answer counts; a question is answered once.
export function answered(quiz, answer) {
  if (quiz.answer !== null || !quiz.options.includes(answer)) return quiz;
  return { ...quiz, answer, asked: quiz.asked + 1, right: quiz.right + Number(answer === quiz.id) };
}

export const score = ({ asked, right }) => (asked ? `${right} of ${asked} right` : "");
