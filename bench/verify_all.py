"""Put every rule to the test on the bundled pair: lossless ones must pass with three drafters, faulty ones
must fail.

Prints a Markdown table; each line is what `python app.py verify --rule … --drafter … --k … --samples …`
finds. Run with `python -m bench.verify_all`; takes about half a minute a line on two cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from engine import verification
from engine.core.types import Rule, Sampling
from engine.rules import RULES
from engine.verification import DEFAULTS, Verification
from engine.worker import Worker
from inspector.verify_report import finding_object, p_text

DRAFTERS = ("self:3bit", "self:4bit", "lookup")

HEAD = (
    "| rule | class | drafter | k | samples | first tokens, p | pairs, p | acceptance (expected), p | "
    "verdict | passes |\n|---|---|---|---|---|---|---|---|---|---|"
)


def runs(only: list[str]) -> Iterator[tuple[Rule, str]]:
    """Lossless rules with every drafter, all others with the first."""
    for rule in RULES.values():
        if not only or rule.id in only:
            yield from ((rule, drafter) for drafter in (DRAFTERS if rule.lossless else DRAFTERS[:1]))


def verified(worker: Worker, rule: Rule, drafter: str, samples: int) -> Verification:
    asked = replace(DEFAULTS, rule=rule.id, drafter=drafter)
    if rule.greedy_only:
        asked = replace(asked, sampling=Sampling(temperature=0.0))
    if rule.id == "fly":
        asked = replace(asked, k=1 + rule.window)  # a shorter block never forgives
    check = Verification(verification.planned(asked, samples), samples)
    worker.submit(check)
    check.done.wait()
    if check.status != "finished":
        raise SystemExit(f"{rule.id} with {drafter}: {check.reason}")
    return check


def line(rule: Rule, check: Verification) -> str:
    found = finding_object(check.finding, check.pieces)
    started, acceptance = check.started, found["acceptance"]
    kind = "faulty" if rule.faulty else "lossless" if rule.lossless else "biased"
    told = "n/a"
    if acceptance["p_value"] is not None:
        told = (
            f"{acceptance['per_position_acceptance']:.4f} ({acceptance['expected']:.4f}), "
            f"{acceptance['p_value']:.2g}"
        )

    def p(test: dict) -> str:
        return p_text(test["p_value"]).removeprefix("p ").removeprefix("= ")

    cells = [
        f"`{rule.id}`",
        kind,
        f"`{started.drafter}`",
        started.k,
        check.samples,
        p(found["first_tokens"]),
        p(found["pairs"]),
        told,
        found["verdict"],
        "yes" if found["passed"] else "no",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--samples", type=int, default=verification.SAMPLES)
    parser.add_argument("--rule", action="append", default=[], help="only this rule (repeatable)")
    asked = parser.parse_args()
    wrong = []
    print(HEAD, flush=True)
    with closing(Worker()) as worker:
        for rule, drafter in runs(asked.rule):
            check = verified(worker, rule, drafter, asked.samples)
            print(line(rule, check), flush=True)
            if (rule.lossless or rule.faulty) and rule.lossless != check.finding.passed:
                wrong.append(
                    f"{rule.id} with {drafter} should have {'passed' if rule.lossless else 'failed'}."
                )
    print("\n" + "\n".join(wrong) if wrong else "\nEvery lossless rule passes, every faulty one fails.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
