"""Acceptance rules: one file each, and this table. To add a rule, write its file and its line here."""

from __future__ import annotations

from engine.core.types import Rule, Sampling
from engine.errors import BadSetting
from engine.rules import own
from engine.rules.argmax import Argmax
from engine.rules.block import BlockVerification
from engine.rules.cascade import Cascade
from engine.rules.ensemble import Ensemble
from engine.rules.fault_one_token_residual import FaultOneTokenResidual
from engine.rules.fault_raw_q import FaultRawQ
from engine.rules.fault_residual_from_p import FaultResidualFromP
from engine.rules.fault_shared_coin import FaultSharedCoin
from engine.rules.fault_softmax_q import FaultSoftmaxQ
from engine.rules.fault_string_match import FaultStringMatch
from engine.rules.fly import Fly
from engine.rules.greedy_argmax import GreedyArgmax
from engine.rules.gumbel import Gumbel
from engine.rules.lenient import Lenient
from engine.rules.one_hot import OneHot
from engine.rules.relaxed import Relaxed
from engine.rules.sampler_match import SamplerMatch
from engine.rules.stochastic import Stochastic
from engine.rules.synthetic import Synthetic
from engine.rules.threshold import Threshold
from engine.rules.typical import Typical

#: Every rule at its default parameters, by id, in the order lists show them.
RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Stochastic(),
        SamplerMatch(),
        OneHot(),
        BlockVerification(),
        Gumbel(),
        GreedyArgmax(),
        Argmax(),
        Lenient(),
        Ensemble(),
        Typical(),
        Threshold(),
        Relaxed(),
        Fly(),
        Cascade(),
        Synthetic(),
        FaultResidualFromP(),
        FaultOneTokenResidual(),
        FaultSharedCoin(),
        FaultSoftmaxQ(),
        FaultRawQ(),
        FaultStringMatch(),
    )
}


def get(rule_id: str, **params: float) -> Rule:
    """The rule of that id, with parameters; raises BadSetting for an unknown id, name or value.

    It runs no file: a rule of somebody's own is found once `named` has loaded it.
    """
    rule = find(rule_id)
    if rule is None and "@" in rule_id:
        name, _, digits = rule_id.rpartition("@")
        raise BadSetting(
            f"{name!r} is a rule of somebody's own, and its file is not loaded.",
            f"Name the file it came from, with --rule or --rules; its sha256 begins with {digits}.",
        )
    if rule is None:
        raise BadSetting(f"There is no rule {rule_id!r}.", f"Choose one of {', '.join(RULES)}.")
    return rule.with_params(params)


def find(rule_id: str) -> Rule | None:
    """A built-in or a loaded rule at its default parameters; None where there is none of that id."""
    loaded = own.find(rule_id)
    return RULES.get(rule_id) or (loaded and loaded.rule)


def with_own(rule: Rule) -> tuple[Rule, ...]:
    """The table with a session's own rule in it: in its place with the session's parameters, or at the end
    where it came from a file."""
    return tuple((RULES | {rule.id: rule}).values())


def named(name: str) -> str:
    """The id of a rule that a person names: an id as it is, or a Python file of their own, which is run and
    checked. Never to be asked about a name that comes out of a session. Raises BadSetting."""
    return own.load(name, RULES).rule.id if own.is_file(name) else name


def effective(rule: Rule, sampling: Sampling) -> tuple[Rule, str]:
    """The rule that really runs under this sampling, and why it is another than asked ("" if it is not).

    Raises BadSetting where the rule asked for has no meaning under the sampling.
    """
    if rule.lossless and not rule.greedy_only and sampling.greedy:
        why = "temperature is 0" if sampling.temperature == 0 else "top-k is 1"
        return RULES["greedy-argmax"], f"{why}: every lossless rule compares with the argmax then"
    if rule.greedy_only and not sampling.greedy:
        raise BadSetting(
            f"{rule.id} needs temperature 0 or top-k 1, got temperature {sampling.temperature:g}.",
            "Set the temperature to 0, or choose stochastic (lossless) or argmax (the same test, biased).",
        )
    return rule, ""
