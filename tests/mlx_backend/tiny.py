"""Tiny random models, tokenizers and folders."""

# OpenBLAS has to be in the process before mlx is.
from engine.mlx_backend import load, weights
from engine.mlx_backend.text import BYTES

# isort: split
import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from mlx_lm.utils import save_config, save_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

VOCAB = 262  # 256 bytes, "th", "the", four control tokens
CONTROL = ("<|end|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def config(**changes) -> dict:
    return {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "vocab_size": VOCAB,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "eos_token_id": 260,
    } | changes


def random_model(seed: int = 0, **changes):
    """A float32 Llama whose rows are neither flat nor one-hot."""
    model = load._blank(config(**changes))
    rng = np.random.default_rng(seed)

    def values(name: str, shape: tuple[int, ...]) -> mx.array:
        low = 1.0 if name.endswith("norm.weight") else 0.0
        return mx.array(low + rng.normal(0, 0.2, shape).astype(np.float32))

    return weights.load(model, {n: values(n, v.shape) for n, v in tree_flatten(model.parameters())})


def tokenizer(order: int = 1, control: tuple[str, ...] = CONTROL) -> TokenizerWrapper:
    """Byte-level, 256 bytes and two merges; order -1 numbers the bytes backwards."""
    spelled = [*list(BYTES)[::order], "th", "the"]
    backend = Tokenizer(
        models.BPE(vocab={t: i for i, t in enumerate(spelled)}, merges=[("t", "h"), ("th", "e")])
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|im_end|>", bos_token="<|end|>", chat_template=TEMPLATE
    )
    return TokenizerWrapper(fast, BPEStreamingDetokenizer)


def save(folder, model, words: TokenizerWrapper, **changes):
    """An mlx-lm folder, written with mlx-lm's own functions."""
    save_model(folder, model)
    save_config(config(**changes), folder / "config.json")
    words._tokenizer.save_pretrained(folder)
    return folder
