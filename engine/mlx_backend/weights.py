"""What number format a model's weights have, and how to change it.

On a CPU every weight is float32: OpenBLAS multiplies float32, and MLX's own packed products there are
slower by a factor that grows with the rows of a pass. On Metal and CUDA packed weights stay packed.
"""

from __future__ import annotations

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

from engine.errors import ModelError

#: Bits -> weights per scale. At 2 and 3 bits a coarser group costs too much of the overlap with the target.
GROUPS = {2: 32, 3: 32, 4: 64, 5: 64, 6: 64, 8: 64}


def on_cpu() -> bool:
    return mx.default_device() == mx.Device(mx.cpu)


def is_packed(module: nn.Module) -> bool:
    return "scales" in module and hasattr(module, "bits")


def describe(model: nn.Module) -> str:
    """The format in a phrase: "float32", "bfloat16", or "4-bit" for packed weights, mixed ones joined."""
    leaves = [module for _, module in model.named_modules() if "weight" in module]
    matrices = [module for module in leaves if module.weight.ndim > 1]
    kinds = {
        f"{module.bits}-bit" if is_packed(module) else str(module.weight.dtype).removeprefix("mlx.core.")
        for module in matrices
    }
    return " and ".join(sorted(kinds))


def unpacked(module: nn.Module) -> mx.array:
    """A packed module's weight as float32, computed in float32: scales in half precision would round it."""
    biases = module.get("biases")
    return mx.dequantize(
        module.weight,
        module.scales.astype(mx.float32) if module.mode == "affine" else module.scales,
        biases.astype(mx.float32) if biases is not None else None,
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
    ).astype(mx.float32)


def as_float32(model: nn.Module) -> dict[str, mx.array]:
    """Every parameter by name, packed ones unpacked, floating ones as float32: what `rebuilt` loads."""
    named = dict(model.named_modules())
    packed = {name for name, module in named.items() if is_packed(module)}
    out = {f"{name}.weight": unpacked(named[name]) for name in packed}
    for name, value in tree_flatten(model.parameters()):
        owner, _, part = name.rpartition(".")
        if owner in packed and part in ("weight", "scales", "biases"):
            continue
        out[name] = value.astype(mx.float32) if mx.issubdtype(value.dtype, mx.floating) else value
    return out


def load(model: nn.Module, weights: dict[str, mx.array]) -> nn.Module:
    """Put the weights into the model, computed and in memory. Raises ModelError when names do not match."""
    try:
        model.load_weights(list(weights.items()), strict=True)
    except ValueError as error:
        raise ModelError(
            f"The weights do not fit the model: {str(error).splitlines()[0]}",
            "Convert the model again with `mlx_lm.convert`.",
        ) from error
    model.eval()
    mx.eval(model.parameters())
    return model


def quantizable(module: nn.Module, group: int) -> bool:
    return hasattr(module, "to_quantized") and module.weight.shape[-1] % group == 0


def requantized(model: nn.Module, bits: int) -> nn.Module:
    """Every linear layer and the embedding at fewer bits, in place; `model` must not be packed.

    On a CPU the rounded weights go back to float32, so the values are those of `bits` bits and the speed
    that of OpenBLAS. Tied output weights follow the embedding. Raises ModelError when no layer has rows
    that divide into groups.
    """
    group = GROUPS[bits]
    chosen = [m for _, m in model.named_modules() if quantizable(m, group)]
    if not chosen:
        raise ModelError(
            f"No layer of the target has rows that divide into groups of {group} weights.",
            "Choose another number of bits, `lookup`, or `model:PATH-OR-ID`.",
        )
    if on_cpu():
        for module in chosen:
            module.weight = rounded(module.weight, group, bits)
            mx.eval(module.weight)
    else:
        nn.quantize(model, group, bits, class_predicate=lambda _, m: quantizable(m, group))
        mx.eval(model.parameters())
    return model


def rounded(weight: mx.array, group: int, bits: int) -> mx.array:
    """The nearest weights that `bits` bits and one scale and bias a group can say, in the same format."""
    packed, scales, biases = mx.quantize(weight, group_size=group, bits=bits)
    return mx.dequantize(packed, scales, biases, group_size=group, bits=bits)
