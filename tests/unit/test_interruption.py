"""Ctrl-C ends work as Ctrl-C, whatever a client makes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from frazil.errors import PartDownError
from frazil.interruption import interruptible


@pytest.fixture(autouse=True)
def handler_of_python() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def dropped() -> None:
    """Ctrl-C, which a client in C drops."""
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interruption_that_c_code_went_on_with_is_one() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def test_a_fault_of_c_code_stays_one() -> None:
    with pytest.raises(SystemError, match="bad argument"), interruptible():
        raise SystemError("bad argument") from ValueError()


def failing() -> None:
    """Work that a client ends when its time is over."""
    dropped()
    raise PartDownError("Kafka does not answer.")


def test_what_a_client_dropped_is_an_interruption_once_the_work_fails() -> None:
    """An admin client of Kafka's did so while it was made: a landing ended with "Kafka does not answer"."""
    with pytest.raises(KeyboardInterrupt), interruptible(), interruptible():
        failing()


def test_what_fails_in_a_later_block_is_an_error_of_its_own() -> None:
    with interruptible():
        with interruptible():
            dropped()
        with pytest.raises(PartDownError), interruptible():
            raise PartDownError("Kafka does not answer.")


def test_work_that_goes_through_all_the_same_is_done() -> None:
    with interruptible():
        dropped()


def test_a_handler_of_the_hosts_is_left_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(PartDownError), interruptible():
            failing()
    finally:
        assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN
