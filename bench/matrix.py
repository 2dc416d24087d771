"""What the rule matrix costs: its share of a round on the bundled pair, for six rules and for all.

    python -m bench.matrix [--tokens 32]

Each round times its own stages, so the shares come from the same moments of a busy machine. No model runs
for the matrix; it judges the round's block under every rule and takes the laws of the tested positions.
"""

from __future__ import annotations

import argparse
import statistics

from engine import rules
from engine.core import loop
from engine.core.types import Sampling
from engine.mlx_backend import load

SIX = ("stochastic", "sampler-match", "one-hot", "block", "typical", "lenient")
PROMPT = "Why is the sky blue?"


def shares(generation: loop.Generation) -> list[float]:
    """The matrix's share of each round's time, the first round left out."""
    times = [done.times for done in generation][1:]
    return [t.matrix / (t.draft + t.target + t.judge + t.matrix) for t in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=int, default=32)
    args = parser.parse_args()
    target = load.load_target("bundled")
    scorer, drafter = load.scorer(target), load.load_drafter("self:3bit", target)
    prompt = target.text.encode(PROMPT, raw=False)
    print("| rules in the matrix | share of a round, median | largest |\n|---|---|---|")
    for name, ids in (("six", SIX), (f"all {len(rules.RULES)}", tuple(rules.RULES))):
        scorer.prefill(prompt)
        drafter.start(prompt)
        plan = loop.Plan(prompt, rules.get("stochastic"), Sampling(), 0, 4, args.tokens)
        wanted = tuple(rules.get(rule_id) for rule_id in ids)
        found = shares(loop.Generation(plan, drafter, scorer, matrix_rules=wanted))
        print(f"| {name} | {statistics.median(found):.1%} | {max(found):.1%} |")


if __name__ == "__main__":
    main()
