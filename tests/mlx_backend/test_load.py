"""Folders written by mlx-lm load as targets and as drafters; what cannot work is refused with a reason."""

import json
import socket

import huggingface_hub
import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from mlx_lm.models import mamba
from mlx_lm.utils import save_config, save_model

from engine.core.coins import PhiloxCoins
from engine.core.types import Sampling
from engine.drafters.lookup import LookupDrafter
from engine.drafters.none import NoDrafter
from engine.errors import BadSetting, ModelError
from engine.mlx_backend import load, weights
from tests.mlx_backend import tiny

TOKENS = [1, 50, 100, 150, 200]


def logits_of(model):
    out = model(mx.array([TOKENS]))
    return np.array(out[0].astype(mx.float32))


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def folder(tmp_path):
    return tiny.save(tmp_path / "model", tiny.random_model(), tiny.tokenizer())


def test_a_local_folder_is_a_target(folder, offline):
    told = []
    target = load.load_target(str(folder), lambda message, fraction: told.append((message, fraction)))
    assert (target.name, target.vocab, target.context_length) == (str(folder), tiny.VOCAB, 2048)
    assert target.eos_ids == {260}
    assert target.weights == "float32"
    assert len(target.fingerprint) == 64
    np.testing.assert_array_equal(logits_of(target.model), logits_of(tiny.random_model()))
    assert target.text.decode(target.text.encode("the é", raw=True)) == "the é"
    assert told[0] == (f"Loading {folder}", None)
    assert told[-1] == (f"Loaded {folder}", 1.0)


def test_a_local_folder_is_a_drafter(folder, tiny_target, offline):
    drafter = load.load_drafter(f"model:{folder}", tiny_target)
    assert drafter.kind == f"model:{folder}"
    drafter.start(tuple(TOKENS))
    own = load.load_drafter("self:8bit", tiny_target)
    own.start(tuple(TOKENS))
    sampling = Sampling(temperature=0)
    drafts = drafter.propose((), 4, sampling, PhiloxCoins(0)).tokens
    assert len(drafts) == 4
    assert drafts[0] == logits_of(tiny_target.model)[-1].argmax()


def test_packed_weights_become_float32_on_a_cpu(tmp_path, offline):
    model = tiny.random_model()
    nn.quantize(model, group_size=32, bits=4)
    packing = {"quantization": {"group_size": 32, "bits": 4}}
    tiny.save(tmp_path, model, tiny.tokenizer(), **packing)
    target = load.load_target(str(tmp_path))
    assert target.weights == "float32 from 4-bit"
    assert {value.dtype for _, value in weights.tree_flatten(target.model.parameters())} == {mx.float32}
    np.testing.assert_allclose(logits_of(target.model), logits_of(model), atol=1e-4)


def test_half_precision_becomes_float32_on_a_cpu(tmp_path, offline):
    model = tiny.random_model()
    model.set_dtype(mx.bfloat16)
    tiny.save(tmp_path, model, tiny.tokenizer())
    target = load.load_target(str(tmp_path))
    assert target.weights == "float32 from bfloat16"
    assert logits_of(target.model).dtype == np.float32


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/no/such/folder", "There is no folder '/no/such/folder'"),
        ("no-such-model", "There is no folder 'no-such-model'"),
        ("", "There is no folder ''"),
    ],
)
def test_a_missing_folder_is_named(name, message, offline):
    with pytest.raises(ModelError) as caught:
        load.load_target(name)
    assert message in caught.value.message
    assert "bundled" in caught.value.hint


def test_a_folder_without_a_config_is_no_model(tmp_path):
    with pytest.raises(ModelError, match=r"has no config\.json"):
        load.load_target(str(tmp_path))


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "weights.bin").write_text("")
    with pytest.raises(ModelError, match="is a file"):
        load.load_target(str(tmp_path / "weights.bin"))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "No safetensors"),
        (lambda folder: (folder / "model.safetensors").write_text("x"), "cannot load"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot load"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "no_such"}'), "no_such"),
        (lambda folder: save_config(tiny.config(hidden_size=32), folder / "config.json"), "cannot load"),
        (lambda folder: save_config(tiny.config(model_file="own.py"), folder / "config.json"), "own.py"),
    ],
    ids=["no weights", "broken weights", "broken config", "unknown type", "other shapes", "own code"],
)
def test_a_folder_mlx_lm_cannot_load_is_refused_with_its_reason(folder, broken, reason, offline):
    broken(folder)
    with pytest.raises(ModelError, match=reason) as caught:
        load.load_target(str(folder))
    assert str(folder) in caught.value.message


def test_a_tokenizer_that_brings_code_is_refused_without_asking(folder, offline):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings |= {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}, "tokenizer_class": "OwnTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "own.py").write_text("raise SystemExit('the code ran')")
    with pytest.raises(ModelError, match="contains custom code"):
        load.load_target(str(folder))


def test_a_recurrent_model_is_refused_with_its_layer(tmp_path, offline):
    settings = {
        "model_type": "mamba",
        "vocab_size": tiny.VOCAB,
        "hidden_size": 32,
        "intermediate_size": 64,
        "state_size": 8,
        "num_hidden_layers": 2,
        "conv_kernel": 4,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_rank": 4,
    }
    save_model(tmp_path, mamba.Model(mamba.ModelArgs.from_dict(settings)))
    save_config(settings, tmp_path / "config.json")
    tiny.tokenizer()._tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="cannot rewind: layer 0 keeps a ArraysCache"):
        load.load_target(str(tmp_path))


def test_a_sliding_window_limits_how_much_is_held(tmp_path, offline):
    changes = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 16}
    tiny.save(tmp_path, tiny.random_model(**changes), tiny.tokenizer(), **changes)
    target = load.load_target(str(tmp_path))
    assert target.context_length == 15
    scorer = load.scorer(target)
    scorer.prefill(tuple(TOKENS))
    for _ in range(3):
        scorer.score((1, 2, 3))
    with pytest.raises(ModelError, match="holds 15 tokens"):
        scorer.score((1, 2, 3))


def test_the_simple_drafters(tiny_target):
    lookup = load.load_drafter("lookup", tiny_target)
    assert isinstance(lookup, LookupDrafter)
    assert lookup.vocab == tiny.VOCAB
    assert isinstance(load.load_drafter("none", tiny_target), NoDrafter)
    with pytest.raises(BadSetting):
        load.load_drafter("self:7bit", tiny_target)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_own_weights_at_fewer_bits(tiny_target, bits):
    """Every matrix, the embedding included, takes no more values a group than `bits` bits can say."""
    drafter = load.load_drafter(f"self:{bits}bit", tiny_target)
    model = drafter.cached.model
    group = weights.GROUPS[bits]
    before = dict(weights.tree_flatten(tiny_target.model.parameters()))
    for name, value in weights.tree_flatten(model.parameters()):
        if value.ndim == 1:
            assert mx.array_equal(value, before[name]), name
            continue
        assert value.dtype == mx.float32
        assert not mx.array_equal(value, before[name]), name
        groups = np.array(value).reshape(-1, group)
        assert max(len(np.unique(row)) for row in groups) <= 2**bits, name
    assert mx.array_equal(before["model.norm.weight"], tiny_target.model.model.norm.weight)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_off_the_cpu_the_rounded_weights_stay_packed_and_say_the_same(tiny_target, bits, monkeypatch):
    ours = load.load_drafter(f"self:{bits}bit", tiny_target).cached.model
    monkeypatch.setattr(weights, "on_cpu", lambda: False)
    packed = load.load_drafter(f"self:{bits}bit", tiny_target).cached.model
    assert weights.describe(packed) == f"{bits}-bit"
    np.testing.assert_allclose(logits_of(packed), logits_of(ours), atol=1e-4)


def test_an_untied_output_matrix_is_rounded_too(tiny_target):
    settings = tiny.config(tie_word_embeddings=False)
    model = tiny.random_model(tie_word_embeddings=False)
    target = load._finished("untied", model, tiny_target.text, settings, "float32")
    rounded = load.load_drafter("self:4bit", target).cached.model
    assert not mx.array_equal(rounded.lm_head.weight, model.lm_head.weight)
    assert not mx.array_equal(rounded.lm_head.weight, rounded.model.embed_tokens.weight)


def test_rows_that_do_not_divide_into_groups_are_refused(tiny_target):
    narrow = dict(hidden_size=40, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2)
    model = tiny.random_model(**narrow)
    target = load._finished("narrow", model, tiny_target.text, tiny.config(**narrow), "float32")
    with pytest.raises(ModelError, match="groups of 64"):
        load.load_drafter("self:4bit", target)


def test_a_draft_model_with_other_tokens_is_refused(tmp_path, tiny_target):
    tiny.save(tmp_path, tiny.random_model(), tiny.tokenizer(order=-1))
    with pytest.raises(ModelError) as caught:
        load.load_drafter(f"model:{tmp_path}", tiny_target)
    assert f"{tmp_path} does not have the tokens of tiny: id 0 is '!' here and" in caught.value.message
    assert "id 1 is" in caught.value.message
    assert "and 253 more" in caught.value.message


@pytest.mark.parametrize(("width", "tokens"), [(262, 262), (300, 262), (261, 261), (262, 261), (300, 261)])
def test_a_draft_model_of_another_width_is_aligned(tmp_path, tiny_target, width, tokens):
    """Padded wider, or without the last control token: ids that one side lacks get no mass."""
    changes = {"vocab_size": width}
    control = tiny.CONTROL[: tokens - 258]
    tiny.save(tmp_path, tiny.random_model(seed=5, **changes), tiny.tokenizer(control=control), **changes)
    drafter = load.load_drafter(f"model:{tmp_path}", tiny_target)
    drafter.start(tuple(TOKENS))
    row = drafter.propose((), 1, Sampling(temperature=1), PhiloxCoins(0)).rows[0]
    assert row.vocab == tiny.VOCAB
    assert row.ids.tolist() == list(range(tokens))
    assert row.probs.sum() == pytest.approx(1, abs=1e-12)


def test_a_hub_model_shows_its_download(folder, monkeypatch):
    """mlx-lm's hub client, replaced at its door: not cached first, then fetched with progress."""
    asked = []

    def snapshot(name, *, allow_patterns, local_files_only=False, tqdm_class=None):
        asked.append((name, local_files_only))
        if local_files_only:
            raise LocalEntryNotFoundError("not cached")
        assert "*.py" not in allow_patterns
        with tqdm_class(total=10_000_000, unit="B", unit_scale=True, mininterval=0) as bar:
            bar.update(5_000_000)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    told = []
    target = load.load_target("owner/name", lambda message, fraction: told.append((message, fraction)))
    assert target.name == "owner/name"
    assert asked == [("owner/name", True), ("owner/name", False)]
    assert ("Downloading owner/name", None) in told
    assert ("Downloading owner/name: 5 of 10 MB", 0.5) in told


def test_a_cached_hub_model_asks_no_network(folder, monkeypatch, offline):
    asked = []

    def snapshot(name, **settings):
        asked.append(settings["local_files_only"])
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert load.load_target("owner/name").vocab == tiny.VOCAB
    assert asked == [True]


def test_a_hub_model_that_cannot_be_fetched_says_why(monkeypatch):
    def snapshot(name, **settings):
        if settings.get("local_files_only"):
            raise LocalEntryNotFoundError("not cached")
        raise ConnectionError("Name or service not known\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(ModelError) as caught:
        load.load_target("owner/name")
    assert caught.value.message.endswith("from the hub: Name or service not known")
    assert "HF_HUB_OFFLINE" in caught.value.hint
