"""Errors a person can act on: what was wrong, and the next step."""


class EngineError(Exception):
    """One sentence that names the value and the limit (`message`), one that names the next step (`hint`)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class BadSetting(EngineError):
    """A setting outside its limits, an unknown rule, a drafter that cannot be read."""


class BadRow(EngineError):
    """A model produced a row that is no distribution (NaN, infinity, or no mass)."""


class ModelError(EngineError):
    """A model cannot be found, loaded, paired with the other one, or rewound."""
