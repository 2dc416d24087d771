"""Which ids mean the same token to a target and a draft model.

Verification compares probabilities id by id, so both models must mean the same by an id. Vocabularies of
one family often differ in width only, by padding or by a few added tokens: ids one side lacks have
probability 0 there. Where one id is two different tokens, the pair is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.errors import ModelError
from engine.mlx_backend.text import Text

SHOWN = 3  # differing ids named in a refusal


@dataclass(frozen=True, eq=False)
class Shared:
    """The draft's ids that the target knows too: `known` bool[draft width]; `vocab` is the target's width."""

    known: np.ndarray
    vocab: int

    @classmethod
    def all_of(cls, vocab: int) -> Shared:
        """Two models over one and the same vocabulary."""
        return cls(np.ones(vocab, dtype=bool), vocab)

    @property
    def width(self) -> int:
        """How many leading draft logits lie within both vocabularies."""
        return min(len(self.known), self.vocab)

    def masked(self, logits: np.ndarray) -> np.ndarray:  # float32[draft width] -> float32[width]
        """The logits of the shared ids; -inf, so probability 0, for ids the target lacks."""
        return np.where(self.known[: self.width], logits[: self.width], -np.inf)


def shared(target: Text, target_vocab: int, draft: Text, draft_vocab: int) -> Shared:
    """The ids both tokenizers spell alike. Raises ModelError, naming the first ids, when any differ."""
    width = min(target_vocab, draft_vocab)
    ours, theirs = target.tokens, draft.tokens
    common = [i for i in ours.keys() & theirs.keys() if i < width]
    differ = sorted(i for i in common if ours[i] != theirs[i])
    if differ or not common:
        raise ModelError(
            f"{draft.name} does not have the tokens of {target.name}: "
            + (_examples(differ, ours, theirs) if differ else "no id is a token in both")
            + ".",
            "Choose a draft model of the target's own family, `self:3bit`, or `lookup`.",
        )
    known = np.zeros(draft_vocab, dtype=bool)
    known[common] = True
    return Shared(known, target_vocab)


def _examples(differ: list[int], ours: dict[int, str], theirs: dict[int, str]) -> str:
    named = "; ".join(f"id {i} is {ours[i]!r} here and {theirs[i]!r} there" for i in differ[:SHOWN])
    rest = len(differ) - SHOWN
    return f"{named}; and {rest} more" if rest > 0 else named
