"""Between text and token ids, to the byte.

A token is a run of bytes, and often half a character, so a token has `pieces` (bytes) and only a
sequence has text. Which bytes a token stands for is read from the tokenizer's own decoder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property

from mlx_lm.tokenizer_utils import TokenizerWrapper

from engine.errors import BadSetting, ModelError

BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Text:
    """A tokenizer as the engine needs it. Raises ModelError for one whose bytes cannot be told exactly."""

    def __init__(self, tokenizer: TokenizerWrapper, name: str) -> None:
        self.tokenizer = tokenizer
        self.name = name
        self._bytes_of = _byte_reader(_decoders(tokenizer, name), name)

    @cached_property
    def tokens(self) -> dict[int, str]:
        """Every token's own spelling by id, added tokens included."""
        return {i: token for token, i in self.tokenizer.get_vocab().items()}

    @cached_property
    def added(self) -> dict[int, str]:
        """Tokens outside the model proper, by id: they stand for their literal text."""
        return {i: token.content for i, token in self.tokenizer.added_tokens_decoder.items()}

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Control tokens: end of text, turn markers and the like."""
        return frozenset(i for i, token in self.tokenizer.added_tokens_decoder.items() if token.special)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over every (id, token), so that two tokenizers with one name are told apart."""
        body = json.dumps(sorted(self.tokens.items()), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(body.encode()).hexdigest()

    def encode(self, prompt: str, raw: bool) -> tuple[int, ...]:
        """The prompt's ids: as it is when `raw`, else as a user's turn with the model's turn opened.

        Raises BadSetting for a prompt that gives no token, for text that is not Unicode, and for a model
        without a chat template unless `raw`.
        """
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise BadSetting(
                f"The prompt holds half a character (a lone surrogate) at index {error.start}.",
                "Remove it, or paste the text again.",
            ) from error
        tokens = self._plain(prompt) if raw else self._turn(prompt)
        if not tokens:
            raise BadSetting(
                "The prompt is empty, and the model needs a token to start from.", "Type a prompt."
            )
        return tokens

    def _plain(self, prompt: str) -> tuple[int, ...]:
        bos, bos_id = self.tokenizer.bos_token, self.tokenizer.bos_token_id
        if not prompt:
            return (bos_id,) if bos_id is not None else ()
        # As mlx-lm's generate does: a prompt that already opens with the token is not given a second one.
        opened = bos is not None and prompt.startswith(bos)
        return tuple(self.tokenizer.encode(prompt, add_special_tokens=not opened))

    def _turn(self, prompt: str) -> tuple[int, ...]:
        if not self.tokenizer.has_chat_template:
            raise BadSetting(
                f"{self.name} has no chat template.", "Use the prompt as it is (`--raw`), or another model."
            )
        if not prompt.strip():
            return ()
        turns = [{"role": "user", "content": prompt}]
        return tuple(self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True))

    def pieces(self, ids: Iterable[int]) -> dict[int, bytes]:
        """The exact bytes of each token. An id that only pads the model's vocabulary has none."""
        return {i: self._piece(i) for i in dict.fromkeys(ids)}

    def _piece(self, i: int) -> bytes:
        if i in self.added:
            return self.added[i].encode()
        return self._bytes_of(self.tokens[i]) if i in self.tokens else b""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a sequence: its bytes as UTF-8, what is no character replaced by U+FFFD."""
        return b"".join(map(self._piece, ids)).decode("utf-8", errors="replace")


def _decoders(tokenizer: TokenizerWrapper, name: str) -> list[dict]:
    """The steps of the tokenizer's decoder, flat, as its own JSON spells them."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            f"The tokenizer of {name} has no tokenizer.json, so the bytes of its tokens are not known.",
            "Use a model that ships a tokenizer.json.",
        )
    decoder = json.loads(backend.to_str())["decoder"] or {}
    return decoder["decoders"] if decoder.get("type") == "Sequence" else [decoder]


def _byte_reader(steps: list[dict], name: str) -> Callable[[str], bytes]:
    """From a token's spelling to its bytes, for the two families in use: byte-level and SentencePiece."""
    kinds = {step.get("type") for step in steps}
    if "ByteLevel" in kinds:
        return _byte_level
    spaces = [step["replacement"] for step in steps if step.get("type") == "Metaspace"]
    spaces += [
        step["pattern"]["String"]
        for step in steps
        if step.get("type") == "Replace" and step["content"] == " " and "String" in step["pattern"]
    ]
    if not spaces:
        raise ModelError(
            f"The tokenizer of {name} has the decoder {sorted(map(str, kinds))}, which is not known here.",
            "Use a model with a byte-level or a SentencePiece tokenizer.",
        )
    fallback = "ByteFallback" in kinds

    def sentence_piece(token: str) -> bytes:
        byte = BYTE_TOKEN.fullmatch(token) if fallback else None
        return bytes([int(byte[1], 16)]) if byte else token.replace(spaces[0], " ").encode()

    return sentence_piece


def _byte_level(token: str) -> bytes:
    # A token outside the alphabet stands for its own text, as the tokenizers library decodes it.
    if all(character in BYTES for character in token):
        return bytes(BYTES[character] for character in token)
    return token.encode()


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's alphabet: a printable Latin-1 character is its own byte, the 68 others follow from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(rest)}


BYTES = _byte_alphabet()
