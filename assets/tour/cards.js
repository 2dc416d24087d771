// The cards of the tour: where each sets the screen (a link), what it says, what it asks, and how the store tells
// that it was done. Sessions 0 and below are recordings, so no card needs a model. Pure.

import { firstDivergence, output } from "../compare/align.js";
import { stagesOf } from "../inspect/stages.js";
import { selected } from "../source/store.js";

const on = (state, round, pos) =>
  state.cursor?.round === round && (pos === undefined || state.cursor.pos === pos);
const fate = (state) => selected(state).position?.fate ?? selected(state).next?.source ?? null;

// `look` names the panels the card speaks of; `show` is what the act would leave, for who cannot find it.
export const CARDS = [
  {
    id: "round",
    title: "One round",
    link: "?s=0&r=6&i=0&stage=0",
    look: ["round"],
    says: [
      "A large model writes well and slowly. So a small one guesses the next few words, and the large one reads all the guesses at once: as much work for it as writing one word.",
      "A guess is called a draft. This is one such round as it really happened, stopped at its very beginning.",
    ],
    asks: "Watch it happen: press the buttons under the round one after another (or the → key), to the last.",
    done: (state) => {
      const { round } = selected(state);
      return on(state, 6) && round && (state.stage === null || state.stage === stagesOf(round).length - 1);
    },
    show: "?s=0&r=6&i=4&stage=8",
    after:
      "Four drafts were made, three were looked at, two were kept, and a comma came in place of the third: three words for one reading by the large model, which is called the target.",
  },
  {
    id: "accept",
    title: "A draft is accepted",
    link: "?s=0&r=6&i=0",
    look: ["decision"],
    says: [
      "Two numbers decide: q, how probable the draft was to the small model, and p, how probable it is to the target. Then a coin is tossed: a random number from 0 to 1, the dart in the picture.",
      "Left of the line at p/q the draft is accepted. The less the target likes a word, the further left the line is.",
    ],
    asks: "Drag the dart to the right, past the line, to see what another coin would have done. (Or focus it and use the arrow keys.)",
    done: (state) => {
      const { position } = selected(state);
      return (
        state.suppose !== null && position?.accept_prob !== null && state.suppose >= position?.accept_prob
      );
    },
    show: "?s=0&r=6&i=0&u=0.93",
    after:
      "With that coin the same draft would have been rejected. What you see is badged hypothetical; Esc puts the coin back.",
  },
  {
    id: "reject",
    title: "A draft is rejected, and the gap refilled",
    link: "?s=0&r=6&i=2",
    look: ["round", "decision"],
    says: [
      "This coin fell right of the line: the full stop is rejected. Something must take its place, and not just any draw: the small model has had its say already.",
      "So the new token is drawn from what the target wants more than the small model did. That remainder is called the residual, and it is why the text comes out exactly as if the target had written alone.",
    ],
    asks: "Which token took the full stop's place? Select it: in the round, behind the arrow.",
    done: (state) => on(state, 6, 4),
    show: "?s=0&r=6&i=4",
    after: "The comma. The decision panel shows the residual as bars, and the dart that drew from it.",
  },
  {
    id: "untested",
    title: "Untested is not rejected",
    link: "?s=0&r=5&i=0",
    look: ["round", "text"],
    says: [
      "Here the very first draft was rejected. The three behind it were written to follow it, so they are thrown away without a look.",
      "Nobody knows whether they were good.",
    ],
    asks: "Select a draft that nobody looked at: grey, with dots.",
    done: (state) => fate(state) === "untested",
    show: "?s=0&r=5&i=2",
    after:
      "“Untested” is a fate of its own here. Tools that count these as failures report another number; you will meet it two cards on.",
  },
  {
    id: "bonus",
    title: "A token for free",
    link: "?s=0&r=9&i=0",
    look: ["round"],
    says: [
      "In this round all four drafts stood. To check the last one, the target also worked out what comes after it.",
      "That answer is there anyway, so it is used: the bonus.",
    ],
    asks: "Select the bonus token: in the round, behind the arrow.",
    done: (state) => fate(state) === "bonus",
    show: "?s=0&r=9&i=4",
    after: "Five tokens for one reading by the target: the best that four drafts can do.",
  },
  {
    id: "rates",
    title: "Two acceptance rates",
    link: "?s=0&r=6&i=2",
    look: ["round"],
    says: [
      "Two different numbers are both called “acceptance rate”. One divides the accepted drafts by those that were tested; the other by all that were drafted, thrown-away ones too.",
      "In this round 4 were drafted, 3 tested and 2 accepted.",
    ],
    asks: "What share of the tested drafts was accepted?",
    choices: [
      { id: "half", text: "2 of 4" },
      { id: "tested", text: "2 of 3", right: true },
      { id: "three", text: "3 of 4" },
    ],
    done: (state) => state.tourAnswer === "tested",
    after: (state) => ratesText(state.sessions[0]?.head?.counters),
  },
  {
    id: "rules",
    title: "Other rules, same coins",
    link: "?s=0&r=6&i=2",
    look: ["under"],
    says: [
      "Testing p/q is one rule of several. Others judge the very same drafts with the very same coins, and decide otherwise.",
      "Because the coins are the same, any difference you see is the rule's doing and not luck.",
    ],
    asks: "Open “Rules on these drafts”, in the panel under the round.",
    done: (state) => state.pane === "rules",
    show: "?s=0&r=6&i=2&pane=rules",
    after:
      "A line for each rule: ✓ accepted, ✗ rejected, – untested, then the token that follows. Lossless rules write as the target would, whatever they accept; the biased ones do not.",
  },
  {
    id: "biased",
    title: "Faster, and not the same text",
    link: "?s=0&r=6&i=2&pane=rules",
    look: ["under"],
    says: [
      "A rule that accepts more is faster. Some do it by letting the text drift from what the target would write, and from one text you cannot tell.",
      "The Law meter works it out for this place: over every draft and every coin that could have been, how far is what the rule writes from what the target wants? 0 is not at all.",
    ],
    asks: "Open the Law meter, find “lenient” among the biased rules, and read its distance (TV). Does it change the text here?",
    choices: [
      { id: "no", text: "No: its distance is 0" },
      { id: "yes", text: "Yes: it is above 0", right: true },
    ],
    done: (state) => state.pane === "laws" && state.tourAnswer === "yes",
    show: "?s=0&r=6&i=2&pane=laws",
    needs: (state) =>
      state.tourAnswer === "yes" && state.pane !== "laws" ? "Now open the Law meter and see." : "",
    after:
      "Caught: it accepts more often and writes other words more often. The lossless rules above it are at 0 to the last digit, by calculation and not by sampling.",
  },
  {
    id: "bug",
    title: "What a bug looks like",
    link: "?s=0&r=0&i=4&view=compare&lanes=0,-10",
    look: ["lanes"],
    says: [
      "A rule can be right and the engine around it wrong. The second lane has the same prompt and the same coins, but its engine forgets to take rejected drafts out of the target's memory.",
      "It is marked faulty on purpose, wherever it appears. Nothing failed and no message came: only the text went off.",
    ],
    asks: "Select the first token at which the faulty lane leaves the healthy one: the one with a thick bar at its left.",
    done: (state) => state.focus === -10 && partsHere(state),
    show: "?s=-10&r=2&i=4&view=compare&lanes=0,-10",
    after:
      "Up to there both are the same to the last coin. This is how such a bug is found: same seed, two engines, first difference.",
  },
  {
    id: "turn",
    title: "Your turn",
    link: "?s=0&r=0&i=4",
    look: [],
    says: [
      "You have seen a round, its coins, three ends of a draft, two rates, a biased rule and a bug. The rest is practice.",
    ],
    asks: "Choose one: guess which bug is behind the numbers, or write a prompt at the top and press Run.",
    turns: true,
    done: (state) => ["faults", "lab"].includes(state.view) || state.focus > 0,
    after: "Have fun. The tour is behind the ? button whenever you want it again.",
  },
];

// Whether the cursor is on the first token at which the tour's faulty session leaves the demo.
function partsHere({ sessions, focus, cursor }) {
  const [healthy, faulty] = [sessions[0], sessions[focus]];
  if (!healthy || !faulty || !cursor) return false;
  const at = firstDivergence(output(healthy), output(faulty));
  const here = selected({ sessions, focus, cursor });
  return at !== null && (here.position ?? here.next)?.at === at;
}

const percent = (part, whole) => `${Math.round((100 * part) / whole)} %`;

// The two rates of the recorded session, in its own numbers.
export function ratesText(counters) {
  const lead = "2 of 3 tested, and 2 of 4 drafted: two thirds or one half, for the same round.";
  if (!counters) return lead;
  const { accepted, positions_tested: tested, proposed } = counters;
  return `${lead} Over the whole session: ${percent(accepted, tested)} of those tested and ${percent(accepted, proposed)} of those drafted. The first says how alike the two models are, the second how much drafting was for nothing.`;
}

// The number of a card in a link, 1 to the last; null for none.
export const cardNumber = (text) => {
  const n = /^\d+$/.test(text ?? "") ? Number(text) : 0;
  return n >= 1 && n <= CARDS.length ? n : null;
};

// Where a card sets the screen, as a whole link.
export const cardLink = (n) => `${CARDS[n - 1].link}&tour=${n}`;
