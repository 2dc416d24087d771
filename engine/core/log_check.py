"""Which rule a log's numbers belong to, which of its rates were confused, and what in it is impossible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.core import exactness
from engine.core.log_reader import COUNTS, FORMS, RATES, Entry

#: A measured rate sits on a closed form unless it is this unlikely there.
ALPHA = 1e-3

#: Which printed closed form a rule's own, in the words of the rule table, is on average. Drafts of a rule
#: that accepts with p(x) are drawn from q, so the mean of p(x) over drafts is sum p q.
ON = {
    "sum min(p, q)": "closed_form_sum_min",
    "sum p q": "closed_form_sum_prod",
    "p(x)": "closed_form_sum_prod",
}
AT_LEAST = "at least "

#: Other programs' names for rules, in small letters with hyphens.
NAMES = {
    "greedy": "greedy-argmax",
    "argmax-match": "argmax",
    "sampler-match-no-proposal-distribution": "sampler-match",
    "match": "sampler-match",
    "rejection": "stochastic",
    "rejection-sampling": "stochastic",
    "modified-rejection-sampling": "stochastic",
    "stochastic-acceptance": "stochastic",
    "leviathan": "stochastic",
    "block-verification": "block",
    "onehot": "one-hot",
}


@dataclass(frozen=True)
class Fit:
    """The measured rate against one closed form: its value and the two-sided binomial p-value there."""

    form: str
    value: float
    p_value: float

    @property
    def sits(self) -> bool:
        return self.p_value >= ALPHA


@dataclass(frozen=True)
class Reading:
    """What an entry amounts to.

    `rule` is the rule it names, by our id; "" when it names none we know. `rate` is the per-position
    acceptance made anew from the counts, `fits` that rate against each closed form it gives, `belongs` the
    closed form of the rule named, `on_its_form` whether the rate sits there (None where it cannot be said).
    `rules_there` are the rules whose closed form the rate does sit on. `confused` and `impossible` are
    sentences.
    """

    entry: Entry
    rule: str
    rate: float | None
    fits: tuple[Fit, ...]
    belongs: str
    on_its_form: bool | None
    rules_there: tuple[str, ...]
    confused: tuple[str, ...]
    impossible: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return self.on_its_form is not False and not self.confused and not self.impossible


def check(entry: Entry, closed_forms: Mapping[str, str]) -> Reading:
    """Read one entry. `closed_forms` has the words of each known rule's closed form by its id."""
    rule = known_rule(entry.rule, closed_forms) if entry.kind == "acceptance" else ""
    impossible = tuple(impossibilities(entry))
    tested, accepted = entry.get("positions_tested"), entry.get("accepted")
    usable = tested and accepted is not None and 0 <= accepted <= tested and whole(tested, accepted)
    fits = tuple(_fits(entry, int(accepted), int(tested))) if usable else ()
    words = closed_forms.get(rule, "")
    belongs = ON.get(words.removeprefix(AT_LEAST), "")
    on_its_form = None
    if belongs and (own := [fit for fit in fits if fit.form == belongs]):
        above = words.startswith(AT_LEAST) and accepted / tested >= own[0].value
        on_its_form = own[0].sits or above
    sitting = {fit.form for fit in fits if fit.sits}
    return Reading(
        entry=entry,
        rule=rule,
        rate=accepted / tested if usable else None,
        fits=fits,
        belongs=belongs,
        on_its_form=on_its_form,
        rules_there=tuple(name for name, form in closed_forms.items() if ON.get(form) in sitting),
        confused=tuple(confusions(entry)),
        impossible=impossible,
    )


def known_rule(name: str, closed_forms: Mapping[str, str]) -> str:
    """A rule's id from what another program calls it; "" for one nobody here knows."""
    plain = name.strip().lower().replace("_", "-")
    plain = NAMES.get(plain, plain)
    return plain if plain in closed_forms else ""


def _fits(entry: Entry, accepted: int, tested: int) -> Iterator[Fit]:
    for form in FORMS:
        value = entry.get(form)
        if value is None or not 0 <= value <= 1:
            continue
        # The printed value is rounded: take the true one that speaks best for the log.
        slack = entry.rounding(form)
        nearest = min(max(accepted / tested, value - slack, 0.0), value + slack, 1.0)
        yield Fit(form, value, exactness.binomial_p_value(accepted, tested, nearest))


def whole(*values: float) -> bool:
    return all(value == int(value) for value in values)


def rates(entry: Entry) -> dict[str, tuple[float, str]]:
    """The rates made anew from the counts, and what each is; those that can be made."""
    accepted, tested, proposed, rounds = (
        entry.get(key) for key in ("accepted", "positions_tested", "proposed", "rounds")
    )
    made = {}
    if accepted is None:
        return made
    for key, below, words in (
        ("per_position_acceptance", tested, "accepted / positions_tested"),
        ("acceptance_rate", proposed, "accepted / proposed"),
        ("mean_accepted_len", rounds, "accepted / rounds"),
    ):
        if below:
            made[key] = accepted / below, words
    return made


def confusions(entry: Entry) -> Iterator[str]:
    """Rates that are another rate of the same counts."""
    made = rates(entry)
    candidates = dict(made)
    if entry.get("rounds") and entry.get("accepted") is not None:
        per_pass = (entry.get("accepted") + entry.get("rounds")) / entry.get("rounds")
        candidates["tokens per target pass"] = per_pass, "(accepted + rounds) / rounds"
    for key in RATES:
        printed = entry.get(key)
        if printed is None or key not in made or _near(entry, key, made[key][0]):
            continue
        for other, (value, words) in candidates.items():
            if other != key and _near(entry, key, value):
                yield (
                    f"{key} is {printed:g}, which is {words} ({other}); {made[key][1]} is {made[key][0]:.4f}"
                )


def _near(entry: Entry, key: str, value: float) -> bool:
    return abs(entry.get(key) - value) <= entry.rounding(key) * 1.001 + 1e-9


def impossibilities(entry: Entry) -> Iterator[str]:
    """What no run can have counted."""
    for key, printed in entry.garbled.items():
        yield f"{key} is {printed!r}, which is no number"
    for key in (*COUNTS, *FORMS, *RATES):
        value = entry.get(key)
        if value is not None and value < 0:
            yield f"{key} is {value:g}, below 0"
        elif value is not None and key in COUNTS and value != int(value):
            yield f"{key} is {value:g}, which is no count"
        elif value is not None and key not in COUNTS and key != "mean_accepted_len" and value > 1:
            yield f"{key} is {value:g}, above 1"
    yield from _orders(entry)
    if entry.kind == "timings":
        yield from _timings(entry)
    yield from _unlike(entry)


def _orders(entry: Entry) -> Iterator[str]:
    rounds, accepted = entry.get("rounds"), entry.get("accepted")
    for less, more, why in (
        ("accepted", "positions_tested", "a draft is accepted by its test"),
        ("positions_tested", "proposed", "only drafts are tested"),
        ("accepted", "proposed", "only drafts are accepted"),
    ):
        a, b = entry.get(less), entry.get(more)
        if a is not None and b is not None and a > b:
            yield f"{less} {a:g} is above {more} {b:g}: {why}"
    tested = entry.get("positions_tested")
    if None not in (rounds, accepted, tested) and tested > accepted + rounds:
        yield (
            f"positions_tested {tested:g} is above accepted + rounds {accepted + rounds:g}: a round ends "
            "with its first rejection"
        )
    if rounds == 0 and (entry.get("proposed") or 0) > 0:
        yield f"proposed is {entry.get('proposed'):g} in 0 rounds"
    low, high = (entry.get(form) for form in ("closed_form_sum_prod", "closed_form_sum_min"))
    slack = sum(entry.rounding(form) for form in FORMS)
    if low is not None and high is not None and low > high + slack:
        yield (
            f"closed_form_sum_min {high:g} is below closed_form_sum_prod {low:g}: p q <= min(p, q) for "
            "every token"
        )


def _timings(entry: Entry) -> Iterator[str]:
    predicted, accepted = entry.get("predicted_n"), entry.get("accepted")
    if predicted is not None and accepted is not None and predicted < accepted:
        yield (
            f"predicted_n {predicted:g} is below draft_n_accepted {accepted:g}: drafts behind the end of the "
            "text are counted"
        )
    for name in ("prompt", "predicted"):
        n, ms, speed = (entry.get(f"{name}_{what}") for what in ("n", "ms", "per_second"))
        if n is not None and ms and speed is not None and abs(speed - 1e3 * n / ms) > 0.01 * speed + 0.01:
            yield f"{name}_per_second is {speed:g}, and {name}_n / {name}_ms makes {1e3 * n / ms:.4g}"


def _unlike(entry: Entry) -> Iterator[str]:
    """Rates that are none of the counts' rates."""
    confused = {sentence.split(" ", 1)[0] for sentence in confusions(entry)}
    for key, (value, words) in rates(entry).items():
        printed = entry.get(key)
        if printed is not None and key not in confused and not _near(entry, key, value):
            yield f"{key} is {printed:g}, and {words} makes {value:.4f}"
