"""Text to ids and back, to the byte, for the two families of tokenizers."""

import pytest
from mlx_lm.tokenizer_utils import NaiveStreamingDetokenizer, TokenizerWrapper
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from engine.errors import BadSetting, ModelError
from engine.mlx_backend.text import BYTES, Text
from tests.mlx_backend import tiny

STRANGE = [
    "The 2 cats, don't they?",
    "🙂 👩‍👩‍👧 é ḿ",
    "漢字 ひらがな 한국어",
    "  two  spaces\n\n\ttab \r\n end ",
    "0123 4.5e-6",
    "<b>&amp;\x00\x1b\u202e\ufffd",
]


def wrapped(backend: Tokenizer, **settings) -> TokenizerWrapper:
    return TokenizerWrapper(
        PreTrainedTokenizerFast(tokenizer_object=backend, **settings), NaiveStreamingDetokenizer
    )


def sentence_piece() -> TokenizerWrapper:
    """Like Llama 2's: spaces as U+2581, unknown characters as byte tokens, one space before the text."""
    spelled = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a", "b"]
    backend = Tokenizer(
        models.BPE(
            vocab={t: i for i, t in enumerate(spelled)},
            merges=[("▁", "a")],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in spelled[:3]])
    return wrapped(backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.fixture
def text():
    return Text(tiny.tokenizer(), "tiny")


@pytest.mark.parametrize("prompt", STRANGE)
def test_byte_level_text_comes_back_as_it_went_in(text, prompt):
    ids = text.encode(prompt, raw=True)
    assert text.decode(ids) == prompt
    pieces = text.pieces(ids)
    assert b"".join(pieces[i] for i in ids) == prompt.encode()


@pytest.mark.parametrize("prompt", STRANGE)
def test_sentence_piece_text_comes_back_after_its_first_space(prompt):
    text = Text(sentence_piece(), "llama-like")
    assert text.decode(text.encode(prompt, raw=True)) == " " + prompt


def test_every_byte_has_one_letter():
    assert sorted(BYTES.values()) == list(range(256))
    assert BYTES["A"] == 65
    assert BYTES["Ġ"] == 32
    assert BYTES["Ċ"] == 10


def test_half_a_character_is_bytes_alone_and_a_mark_in_text(text):
    ids = text.encode("é", raw=True)
    assert [text.pieces([i])[i] for i in ids] == [b"\xc3", b"\xa9"]
    assert text.decode(ids[:1]) == "\ufffd"
    assert text.decode(ids) == "é"


def test_control_tokens_are_their_literal_text(text):
    (end,) = text.encode("<|im_end|>", raw=True)
    assert text.pieces([end]) == {end: b"<|im_end|>"}
    assert text.special_ids == set(range(258, 262))


def test_an_id_that_pads_the_vocabulary_has_no_bytes(text):
    assert text.pieces([999]) == {999: b""}


def test_a_prompt_is_a_users_turn_unless_raw(text):
    turn = text.decode(text.encode("Hi", raw=False))
    assert turn == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert text.decode(text.encode("Hi", raw=True)) == "Hi"


def test_a_raw_prompt_without_text_is_the_beginning_token(text):
    assert text.encode("", raw=True) == (258,)


@pytest.mark.parametrize("prompt", ["", " ", "\n"])
def test_an_empty_turn_is_refused(text, prompt):
    with pytest.raises(BadSetting, match="prompt is empty"):
        text.encode(prompt, raw=False)


def test_a_raw_prompt_without_text_or_beginning_token_is_refused():
    words = tiny.tokenizer()
    words.bos_token = None
    with pytest.raises(BadSetting, match="prompt is empty"):
        Text(words, "tiny").encode("", raw=True)


def test_half_a_surrogate_pair_is_refused(text):
    with pytest.raises(BadSetting, match=r"lone surrogate.* at index 2"):
        text.encode("ab\ud83d", raw=True)


def test_a_model_without_a_chat_template_says_so():
    with pytest.raises(BadSetting, match=r"llama-like has no chat template.*--raw"):
        Text(sentence_piece(), "llama-like").encode("Hi", raw=False)


def test_a_decoder_whose_bytes_are_not_known_is_refused():
    backend = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    backend.decoder = decoders.WordPiece()
    with pytest.raises(ModelError, match=r"words has the decoder \['WordPiece'\]"):
        Text(wrapped(backend, unk_token="[UNK]"), "words")


def test_the_fingerprint_tells_vocabularies_apart(text):
    assert text.fingerprint == Text(tiny.tokenizer(), "other name").fingerprint
    assert text.fingerprint != Text(tiny.tokenizer(order=-1), "tiny").fingerprint
    assert len(text.fingerprint) == 64
