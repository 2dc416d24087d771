"""A verification as an object for programs and pages, and as text for people."""

from __future__ import annotations

from dataclasses import asdict

from engine.core import exactness
from engine.core.exactness import ChiSquare
from engine.core.rivals import Power, Rival
from engine.core.tally import Acceptance
from engine.core.verify import Finding, Violation
from engine.verification import Verification
from inspector.faults import watermark

ODDS = 1 / exactness.ALPHA
CAUGHT = 0.9  # power above which a rule is said to be caught


def verify_object(check: Verification) -> dict:
    """What `verify --json` prints, and what a page polls; `result` is None until it is finished."""
    started = check.started
    names = ("prompt", "raw", "target", "drafter", "rule", "params", "asked", "seed", "k")
    return {name: getattr(started, name) for name in names} | {
        "rule_reason": started.reason,
        "watermark": watermark("", started.rule),
        "sampling": started.sampling.to_dict(),
        "samples": check.samples,
        "status": check.status,
        "reason": check.reason,
        "progress": check.progress,
        "fraction": check.fraction,
        "seconds": check.seconds,
        "result": None if check.finding is None else finding_object(check.finding, check.pieces),
    }


def finding_object(found: Finding, pieces: dict[int, bytes]) -> dict:
    return {
        "verdict": found.verdict,
        "passed": found.passed,
        "reasons": reasons(found, pieces),
        "alpha": exactness.ALPHA,
        "first_tokens": test_object(found.first),
        "pairs": test_object(found.pairs),
        "drafts": None if found.drafts is None else test_object(found.drafts),
        "acceptance": acceptance_object(found.acceptance),
        "violations": [violation_object(one, pieces) for one in found.violations],
        "run_again": {"same": found.unshared, "of": found.unshared_of},
        "rows_tv": found.rows_tv,
        "target_passes": found.target_passes,
        "draft_passes": found.draft_passes,
        "rivals": [rival_object(one) for one in found.rivals],
    }


def test_object(test: ChiSquare) -> dict:
    return asdict(test) | {"fails": test.fails}


def acceptance_object(found: Acceptance) -> dict:
    expected = None if found.expected is None else found.expected / found.tested
    return {
        "positions_tested": found.tested,
        "accepted": found.accepted,
        "per_position_acceptance": found.accepted / found.tested if found.tested else None,
        "expected": expected,
        "p_value": found.p_value,
        "basis": found.basis,
        "fails": found.fails,
    }


def violation_object(one: Violation, pieces: dict[int, bytes]) -> dict:
    return asdict(one) | {"before": list(one.before), "text": text_of(one.token, pieces)}


def rival_object(one: Rival) -> dict:
    def power(found: Power | None) -> dict | None:
        return None if found is None else asdict(found)

    return {
        "rule": one.rule,
        "faulty": one.faulty,
        "first_tokens": power(one.first),
        "pairs": power(one.pairs),
        "why_no_pairs": one.why,
        "power": one.power,
        "caught": None if one.power is None else power_text(one.power),
    }


def text_of(token: int, pieces: dict[int, bytes]) -> str:
    return pieces.get(token, b"").decode("utf-8", errors="backslashreplace")


def reasons(found: Finding, pieces: dict[int, bytes]) -> list[str]:
    """Why it did not pass, a sentence each."""
    told = [
        f"{name} do not follow the target: {p_text(test.p_value)}"
        for name, test in (("first tokens", found.first), ("pairs", found.pairs))
        if test.fails
    ]
    for one in found.violations:
        times = "once" if one.times == 1 else f"{one.times} times"
        told.append(
            f"token {one.token} {text_of(one.token, pieces)!r} came {times} where the target gives it no mass"
        )
    if found.acceptance.fails:
        told.append(f"acceptance is off: {p_text(found.acceptance.p_value)}")
    if found.unshared < found.unshared_of:
        told.append(
            f"{found.unshared_of - found.unshared} of {found.unshared_of} samples came out otherwise when "
            "run again with nothing shared: a cache does not follow the text"
        )
    if found.rows_tv > 1e-3 and told:
        told.append(f"a row the loop judged by is TV {found.rows_tv:.4f} from the same row read apart")
    return told


def verify_text(body: dict) -> str:
    """The object of a finished verification as people read it."""
    found = body["result"]
    lines = [
        *([body["watermark"]] if body["watermark"] else []),
        f"{body['rule']} with {body['drafter']}, {body['samples']} samples, seeds from {body['seed']}",
        f"verdict       {found['verdict']}",
        *(f"              {reason}" for reason in found["reasons"]),
        f"first tokens  {test_line(found['first_tokens'])}",
        f"pairs         {test_line(found['pairs'])}",
        f"support       {support_line(found['violations'])}",
        f"acceptance    {acceptance_line(found['acceptance'])}",
    ]
    if found["drafts"] is not None:
        lines.append(f"drafts        against the q handed over: {test_line(found['drafts'])}")
    again = found["run_again"]
    lines += [
        f"models        {found['target_passes']} target passes and {found['draft_passes']} proposals served "
        "all samples;",
        f"              {again['same']} of {again['of']} samples run again with nothing shared came out the "
        "same;",
        f"              rows of the loop within TV {found['rows_tv']:.1e} of those read apart",
        f"false alarms  a right rule fails each test once in {ODDS:.0f}",
    ]
    return "\n".join(lines + power_lines(found["rivals"]))


def test_line(test: dict) -> str:
    if test["dof"] == 0:
        return "one outcome, nothing to test"
    rest = f", the rarest {test['merged_mass']:.1%} of the mass as one" if test["merged_mass"] else ""
    word = "FAILS" if test["fails"] else "fits"
    degrees = "1 degree" if test["dof"] == 1 else f"{test['dof']} degrees"
    return (
        f"{word}: chi-square {test['statistic']:.1f} on {degrees} of freedom, {p_text(test['p_value'])} "
        f"({test['cells']} cells{rest})"
    )


def p_text(p_value: float) -> str:
    """A p-value; what has underflowed is not 0."""
    return f"p = {p_value:.2g}" if p_value > 1e-300 else "p < 1e-300"


def power_text(power: float) -> str:
    """A power, no surer than the simulations behind it."""
    if power < 1 / exactness.SIMULATIONS:
        return "< 0.1%"
    return f"{power:.1%}" if power < 1 - 1 / exactness.SIMULATIONS else "> 99.9%"


def support_line(violations: list[dict]) -> str:
    if not violations:
        return "no token outside it"
    return f"FAILS: {sum(one['times'] for one in violations)} tokens outside it"


def acceptance_line(found: dict) -> str:
    if found["p_value"] is None:
        return f"not tested ({found['basis']})"
    word = "FAILS" if found["fails"] else "fits"
    return (
        f"{word}: {found['accepted']} of {found['positions_tested']} = "
        f"{found['per_position_acceptance']:.4f}, expected {found['expected']:.4f}, "
        f"{p_text(found['p_value'])} ({found['basis']})"
    )


def power_lines(rivals: list[dict]) -> list[str]:
    """Which other rules these samples would have caught."""
    if not rivals:
        return ["power         nothing was drafted, so no rule can be told from another here"]
    lines = ["power         how often a sample like this would have failed other rules, on these rows"]
    for one in rivals:
        if one["power"] is None:
            lines.append(f"  {one['rule']:<26} unknown: {one['why_no_pairs']}")
            continue
        parts = [f"first tokens TV {one['first_tokens']['tv']:.4f}"]
        if one["pairs"] is not None:
            parts.append(f"pairs TV {one['pairs']['tv']:.4f}")
        elif one["power"] <= CAUGHT:
            parts.append(f"pairs unknown: {one['why_no_pairs']}")
        lines.append(f"  {one['rule']:<26} {one['caught']:>8}  {', '.join(parts)}")
    return lines
