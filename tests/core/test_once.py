"""What is asked twice of the same rows is computed once, inside a round and nowhere else."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings

from engine import rules
from engine.core import matrix
from engine.core.once import once, remembering
from tests.rules.any_rows import any_block


@pytest.fixture
def counted():
    """A function of an array and a number, and how often it was computed."""
    calls = []

    @once
    def scaled(values, by=1.0):
        calls.append(threading.current_thread().name)
        return values * by

    return scaled, calls


def test_the_same_objects_are_asked_once(counted):
    scaled, calls = counted
    values = np.arange(3.0)
    with remembering():
        assert scaled(values, 2.0) is scaled(values, 2.0)
        assert len(calls) == 1
        scaled(values, 3.0), scaled(values, by=2.0), scaled(np.arange(3.0), 2.0)
        assert len(calls) == 4


def test_nothing_is_kept_outside(counted):
    scaled, calls = counted
    values = np.arange(3.0)
    scaled(values), scaled(values)
    with remembering():
        scaled(values)
    with remembering():
        scaled(values)
    assert len(calls) == 4


def test_an_inner_memory_is_the_outer_one(counted):
    scaled, calls = counted
    values = np.arange(3.0)
    with remembering():
        with remembering():
            scaled(values)
        scaled(values)
    assert len(calls) == 1


def test_an_error_ends_the_memory(counted):
    scaled, calls = counted
    values = np.arange(3.0)
    with pytest.raises(ZeroDivisionError), remembering():
        scaled(values)
        raise ZeroDivisionError
    scaled(values)
    assert len(calls) == 2


def test_threads_do_not_share_a_memory(counted):
    scaled, calls = counted
    values = np.arange(3.0)
    with remembering():
        scaled(values)
        other = threading.Thread(target=scaled, args=(values,))
        other.start()
        other.join()
    assert len(calls) == 2


def test_what_was_kept_cannot_be_written_to(counted):
    scaled, _ = counted
    with remembering(), pytest.raises(ValueError, match="read-only"):
        scaled(np.arange(3.0))[0] = 7


def test_temporary_arrays_never_meet_the_memory_of_others(counted):
    """An object that is gone could leave its address to another: what was asked for is kept alive."""
    scaled, _ = counted
    with remembering():
        for i in range(200):
            assert scaled(np.full(3, float(i)), 2.0)[0] == 2.0 * i


@settings(max_examples=60, deadline=None)
@given(any_block())
def test_the_matrix_is_the_same_to_the_last_bit_with_and_without(block):
    """Line by line, each in a memory of its own, and all in one."""
    judged = tuple(rules.RULES.values())
    together = matrix.judged(block, judged, 5, False, block.k)
    apart = [matrix.judged(block, (rule,), 5, False, block.k)[0] for rule in judged]
    assert [line.to_list() for line in together] == [line.to_list() for line in apart]
