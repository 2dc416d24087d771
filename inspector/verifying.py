"""Verifications beside the sessions: begun, looked at, stopped. They are not stored."""

from __future__ import annotations

import threading
from itertools import count

from engine import verification
from engine.core.events import SessionStarted
from engine.errors import EngineError
from engine.verification import Verification
from engine.worker import Worker
from inspector.form import form_of, request_of, whole
from inspector.own_rules import in_form
from inspector.verify_report import verify_object

KEPT = 20  # verifications that can still be looked at


class Verifying:
    """The controller's methods for verifying a rule on a pair."""

    worker: Worker
    own_rules: bool
    _verifications: dict[int, Verification]
    _lock: threading.Lock
    _numbers = count(1)

    def verify(self, form: dict) -> int:
        """Begin a verification from the screen's form, with `samples`; its number. What the form leaves out
        is as in `verification_form`. Raises BadSetting before anything is queued."""
        form = in_form(self.verification_form() | form, self.own_rules)
        samples = whole("samples", form.pop("samples"))
        return self.begin_verification(verification.planned(request_of(form), samples), samples)

    def verification_form(self) -> dict:
        """What a verification asks when nothing is said."""
        return form_of(verification.DEFAULTS) | {"samples": verification.SAMPLES}

    def begin_verification(self, started: SessionStarted, samples: int) -> int:
        """Queue a verification behind what runs; its number."""
        check = Verification(started, samples)
        with self._lock:
            number = next(self._numbers)
            self._verifications[number] = check
            while len(self._verifications) > KEPT:
                self._verifications.pop(next(iter(self._verifications)))
        self.worker.submit(check)
        return number

    def verification(self, number: int) -> dict:
        """How far a verification is, and what it found (see verify_report.verify_object)."""
        return {"verification": number} | verify_object(self.verification_task(number))

    def stop_verification(self, number: int) -> None:
        """End a verification at its next sample; one that has ended stays as it is."""
        self.worker.stop(self.verification_task(number))

    def verification_task(self, number: int) -> Verification:
        """The task behind a number. Raises EngineError for one that is not known any more."""
        check = self._verifications.get(number)
        if check is None:
            raise EngineError(f"There is no verification {number}.", "Begin a new one.")
        return check
