"""Read a llama-family GGUF file: mlx-lm's config, its weight names, its row order, and the tokenizer.

Everything comes from the file's own metadata; nothing about a particular model is written here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.errors import ModelError

GROUP = 32  # weights per scale in every GGUF block type that mx.load keeps packed
CONTROL = 3  # tokenizer.ggml.token_type of a control token

#: GGUF tensor name -> mlx-lm module, outside the blocks and inside one.
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INSIDE = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def _splits(digits: bool) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if not digits:
        return byte_level
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])


#: tokenizer.ggml.pre -> how text is split before the merges.
PRE_TOKENIZERS: dict[str, Callable[[], pre_tokenizers.PreTokenizer]] = {
    "smollm": lambda: _splits(digits=True),
    "gpt-2": lambda: _splits(digits=False),
}


@dataclass(frozen=True)
class Gguf:
    """A GGUF file as mlx-lm would have it. Weights are packed as `weight`, `scales`, `biases`."""

    config: dict
    weights: dict[str, mx.array]
    tokenizer: TokenizerWrapper
    quantization: str  # "Q4_1"

    def packing(self, module: str) -> dict[str, int] | None:
        """How a module's weight is packed, as `nn.quantize` wants it; None for a plain one.

        One file mixes widths (here 4-bit layers and an 8-bit embedding), so each tensor's shape tells:
        a word holds 32 bits, and each group of weights has one scale.
        """
        if f"{module}.scales" not in self.weights:
            return None
        words, groups = (self.weights[f"{module}.{part}"].shape[-1] for part in ("weight", "scales"))
        return {"group_size": GROUP, "bits": 32 * words // (GROUP * groups)}


def read(path: Path) -> Gguf:
    """Raises ModelError for an architecture or a tokenizer this module does not know."""
    tensors, metadata = mx.load(str(path), return_metadata=True)
    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        raise ModelError(
            f"{path.name} has architecture {architecture!r}; only 'llama' GGUF files are read.",
            "Convert the model with `mlx_lm.convert` and give its folder.",
        )
    config = read_config(metadata, tensors)
    heads = config["num_attention_heads"], config["num_key_value_heads"]
    weights = dict(_renamed(name, tensor, *heads) for name, tensor in tensors.items())
    return Gguf(config, weights, read_tokenizer(metadata, path.name), path.stem.rpartition(".")[2])


def read_config(metadata: dict, tensors: dict[str, mx.array]) -> dict:
    """The config.json that mlx-lm's Llama needs, from the metadata keys of the GGUF specification."""

    def number(key: str) -> int | float:
        return metadata[f"llama.{key}"].item()

    return {
        "model_type": "llama",
        "hidden_size": number("embedding_length"),
        "num_hidden_layers": number("block_count"),
        "intermediate_size": number("feed_forward_length"),
        "num_attention_heads": number("attention.head_count"),
        "num_key_value_heads": number("attention.head_count_kv"),
        "head_dim": number("rope.dimension_count"),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_theta": number("rope.freq_base"),
        "max_position_embeddings": number("context_length"),
        "vocab_size": tensors["token_embd.weight"].shape[0],
        "tie_word_embeddings": "output.weight" not in tensors,
        "bos_token_id": metadata["tokenizer.ggml.bos_token_id"].item(),
        "eos_token_id": metadata["tokenizer.ggml.eos_token_id"].item(),
    }


def _renamed(name: str, tensor: mx.array, heads: int, kv_heads: int) -> tuple[str, mx.array]:
    stem, _, part = name.rpartition(".")
    if not stem.startswith("blk."):
        return f"{OUTSIDE[stem]}.{part}", tensor
    _, layer, kind = stem.split(".", 2)
    if kind in ("attn_q", "attn_k"):
        tensor = _rows_in_halves(tensor, heads if kind == "attn_q" else kv_heads)
    return f"model.layers.{layer}.{INSIDE[kind]}.{part}", tensor


def _rows_in_halves(tensor: mx.array, heads: int) -> mx.array:
    """Undo GGUF's row order of q and k: it interleaves the two halves that RoPE rotates against each other.

    Row (head, i, half) of the file is row (head, half, i) of the model, i < head_dim / 2. The scales and
    biases of packed weights have the same rows and move alike.
    """
    rows, *rest = tensor.shape
    pairs = tensor.reshape(heads, rows // heads // 2, 2, *rest)
    return pairs.swapaxes(1, 2).reshape(rows, *rest)


def read_tokenizer(metadata: dict, name: str) -> TokenizerWrapper:
    """The byte-level BPE tokenizer of the metadata, wrapped the way mlx-lm's loader wraps one."""
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2" or pre not in PRE_TOKENIZERS:
        raise ModelError(
            f"{name} has tokenizer {kind!r} with pre-tokenizer {pre!r}; known: 'gpt2' with "
            f"{', '.join(map(repr, PRE_TOKENIZERS))}.",
            "Convert the model with `mlx_lm.convert` and give its folder.",
        )
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    backend = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    backend.pre_tokenizer = PRE_TOKENIZERS[pre]()
    backend.decoder = decoders.ByteLevel()
    types = metadata["tokenizer.ggml.token_type"].tolist()
    control = [token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL]
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    eos = metadata["tokenizer.ggml.eos_token_id"].item()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=tokens[metadata["tokenizer.ggml.bos_token_id"].item()],
        eos_token=tokens[eos],
        pad_token=tokens[metadata["tokenizer.ggml.padding_token_id"].item()],
        unk_token=tokens[metadata["tokenizer.ggml.unknown_token_id"].item()],
        chat_template=metadata.get("tokenizer.chat_template"),
        clean_up_tokenization_spaces=False,
        model_max_length=metadata["llama.context_length"].item(),
    )
    return TokenizerWrapper(fast, BPEStreamingDetokenizer, eos_token_ids=[eos])
