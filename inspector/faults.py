"""What is said of a session that is faulty on purpose, and of the faults that can be switched on.

A watermark is one sentence that every place shows in which such a session appears. It comes from the
session's own first event (its fault, its rule), so nothing can take it off.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import rules
from engine.faults import FAULTS


def watermark(fault: str, rule_id: str) -> str:
    """ "faulty on purpose: ...", or "" for a session that has neither a fault nor a faulty rule."""
    what = [title(fault)] if fault else []
    rule = rules.RULES.get(rule_id)
    if rule is not None and rule.faulty:
        what.append(f"rule “{rule.title.removeprefix('Fault: ')}”")
    return f"faulty on purpose: {' and '.join(what)}" if what else ""


def title(fault: str) -> str:
    """What a fault is called; one that this program does not know, by its name."""
    return FAULTS[fault].title if fault in FAULTS else fault


def marked(text: str, mark: str) -> str:
    """A text with its watermark above it, where there is one."""
    return f"{mark.upper()[0]}{mark[1:]}\n{text}" if mark else text


@dataclass(frozen=True)
class Words:
    """A fault for people: what it does, what gives it away, and where it was met."""

    does: str
    gives_away: str
    seen: str


#: Every engine fault and every rule with a fault, in the order of the gallery.
WORDS: dict[str, Words] = {
    "draft-cache-trimmed": Words(
        "After a rejection the drafter's cache is cut back by one entry too many. From then on the drafter "
        "reads the text with a word missing, and one more goes missing each time.",
        "Acceptance falls, and falls further with every round, while the text stays exactly right: the "
        "target judges by rows of its own. Only the speed suffers, so no test of the text can find it.",
        "An MLX server in Rust (mlxcel 994) cut its draft cache one entry too far after a rejection at the "
        "first draft.",
    ),
    "target-not-rewound": Words(
        "Rejected drafts stay in the target's cache. The target goes on as if it had said them.",
        "First tokens are right and everything behind a rejection is off: pairs fail, and the text reads "
        "like two texts at once.",
        "mlx-lm reported it (1423, 1914): once a rotating cache had wrapped around, taking entries back did "
        "nothing and raised nothing.",
    ),
    "rows-shifted": Words(
        "The rows of the target's pass are read one place too late: the first draft is judged by the row "
        "that belongs behind it.",
        "The very first tokens are wrong, and the text falls apart at once: words are skipped, since the "
        "row behind a draft says what comes after it. First drafts are hardly ever accepted.",
        "A Node port of an MLX engine (mlx-node, pull request 11) sliced its verification rows one off.",
    ),
    "stale-penalties": Words(
        "Penalties for repeating count the text up to the round's beginning. Drafts of the same round do not "
        "count, however often they repeat.",
        "The first draft of a round is judged rightly, the deeper ones too kindly: first tokens pass, "
        "pairs fail, and words come back within a round. Without a penalty nothing differs.",
        "SGLang (pull request 33643): a penalty saw one token a round, however many were accepted.",
    ),
    "drafter-at-t1": Words(
        "The drafter draws at temperature 1 and hands over the row at the session's temperature, as if it "
        "had drawn from that.",
        "The drafts do not follow the q that is stated; that test fails at once, and the text leans "
        "away from the target.",
        "An early server checked at temperature 1 whatever was asked (lattice 388); the same slip on the "
        "drafter's side is what is switched on here.",
    ),
    "unfiltered-q": Words(
        "The draft is drawn from the filtered row, and the row without the filter is handed over as q.",
        "The stated q is too small for the tokens that were kept, so drafts are accepted too often and the "
        "text leans towards the drafter.",
        "transformers (47932): candidates came from a filtered row, and the ratio used another one.",
    ),
    "fault-residual-from-p": Words(
        "After a rejection the next token is drawn from p instead of from what p has and q lacks.",
        "Acceptance is exactly right. The first tokens lean towards what the drafter likes: it is counted "
        "twice, once as a draft and once in the refill.",
        "A common slip in code written from memory: the refill looks like an ordinary draw.",
    ),
    "fault-one-token-residual": Words(
        "The residual takes q away at the rejected token only, not everywhere.",
        "Acceptance is right. The first tokens lean towards the drafter, less than when the refill "
        "comes from p.",
        "A published tutorial had it; with a sharp q the two residuals are almost the same.",
    ),
    "fault-shared-coin": Words(
        "One coin judges all drafts of a round.",
        "Single tokens pass every test. Pairs fail: a coin that let the first draft pass lets the second "
        "pass too. Acceptance at depth two and beyond is too high.",
        "An MLX server's first kernel drew one number for a block (Rapid-MLX 2140).",
    ),
    "fault-softmax-q": Words(
        "The drafter takes its most probable token and is judged as if it had drawn it by chance.",
        "The drafts against q fail at once: it is always the same token. The text leans towards it.",
        "transformers' assisted generation (32867): an argmax draft met the ratio test of a drawn one.",
    ),
    "fault-raw-q": Words(
        "The rule draws its draft from the top of q and judges it by all of q.",
        "Drafts fail against the stated row, as with the engine's fault of that name, and the text is off.",
        "The same report as above (transformers 47932), here as a rule.",
    ),
    "fault-string-match": Words(
        "A draft stands if it equals the target's own draw, and gets the ratio test as a second chance.",
        "Acceptance passes the ceiling sum min(p, q), which no right rule can; the text leans to the "
        "drafter.",
        "A local server's draft loop compared strings first and probabilities second.",
    ),
}
