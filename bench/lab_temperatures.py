"""What a temperature does to the two acceptance rates, on the bundled pair: the numbers that the Lab draws.

    python -m bench.lab_temperatures [--tokens 48]

The target writes texts at temperature 0.8, coins addressed; then target and drafters read each text once, and
at every position sum min(p, q) (what rejection sampling accepts) and sum p q (what sampler match does) are
taken at each temperature from the same logits. The drafters are the target's own weights rounded to 3 and 4
bits.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from engine.core import rows, warp
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Sampling
from engine.mlx_backend import about, load
from engine.mlx_backend.scorer import CachedModel

OUT = Path(__file__).resolve().parent.parent / "assets" / "lab" / "temperatures.json"
DRAFTERS = ("self:3bit", "self:4bit")
TEMPERATURES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
WRITTEN_AT = 0.8
PROMPTS = (
    "Why is the sky blue?",
    "Write a short story about a lighthouse keeper.",
    "How do I boil an egg?",
    "List three uses of a paper clip.",
    "Explain what a prime number is.",
    "What should I see in Rome?",
)


def written(
    model: CachedModel, prompt: tuple[int, ...], eos: frozenset[int], seed: int, tokens: int
) -> list[int]:
    """The target's own text after a prompt, at most `tokens` long."""
    coins, out = PhiloxCoins(seed), []
    model.begin(prompt)
    while len(out) < tokens and not (out and out[-1] in eos):
        owed = model.follow([*prompt, *out])
        row = warp.effective(model.feed(owed)[-1], Sampling(temperature=WRITTEN_AT))
        out.append(coins.choose(row, Address("target", len(out))))
    return out


def read(model: CachedModel, prompt: tuple[int, ...], text: list[int]) -> np.ndarray:  # float32[tokens, V]
    """The logits at every position of the text, in one pass behind the prompt."""
    model.begin(prompt)
    return model.feed(model.follow([*prompt, *text[:-1]]))[-len(text) :]


def rates(p_logits: np.ndarray, q_logits: np.ndarray, temperature: float) -> list[tuple[float, float]]:
    """sum min(p, q) and sum p q at each position; both float32[n, V]."""
    sampling = Sampling(temperature=temperature)
    found = []
    for p_row, q_row in zip(p_logits, q_logits, strict=True):
        p, q = warp.effective(p_row, sampling), warp.effective(q_row, sampling)
        found.append((rows.overlap(p, q), rows.product(p, q)))
    return found


def measured(tokens: int) -> dict:
    target = load.load_target("bundled")
    own = CachedModel(target.model, target.name, target.context_length)
    drafters = {name: load.load_drafter(name, target).cached for name in DRAFTERS}
    found = {name: {temperature: [] for temperature in TEMPERATURES} for name in DRAFTERS}
    for seed, prompt_text in enumerate(PROMPTS):
        prompt = target.text.encode(prompt_text, raw=False)
        text = written(own, prompt, target.eos_ids, seed, tokens)
        p_logits = read(own, prompt, text)
        for name, drafter in drafters.items():
            q_logits = read(drafter, prompt, text)
            for temperature in TEMPERATURES:
                found[name][temperature] += rates(p_logits, q_logits, temperature)
    return {
        "target": about.versions() | {"weights": target.weights, "name": "SmolLM2-135M-Instruct"},
        "positions": len(found[DRAFTERS[0]][TEMPERATURES[0]]),
        "prompts": len(PROMPTS),
        "written_at": WRITTEN_AT,
        "temperatures": list(TEMPERATURES),
        "drafters": {name: curves(by_temperature) for name, by_temperature in found.items()},
    }


def curves(by_temperature: dict[float, list[tuple[float, float]]]) -> dict[str, list[float]]:
    """The means over positions, four digits each."""
    means = [np.mean(pairs, axis=0) for pairs in by_temperature.values()]
    return {
        name: [round(float(mean[i]), 4) for mean in means] for i, name in enumerate(("sum_min", "sum_prod"))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=int, default=48)
    body = measured(parser.parse_args().tokens)
    OUT.write_text(json.dumps(body, indent=1) + "\n")
    print(f"{body['positions']} positions of {body['prompts']} texts -> {OUT.name}")
    for name, curve in body["drafters"].items():
        for values in zip(body["temperatures"], curve["sum_min"], curve["sum_prod"], strict=True):
            print(f"{name}  T {values[0]:.1f}  sum min(p, q) {values[1]:.4f}  sum p q {values[2]:.4f}")


if __name__ == "__main__":
    main()
