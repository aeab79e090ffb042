"""Ctrl-C is Ctrl-C, whatever code waits when it comes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from frazil.errors import FrazilError

__all__ = ["interruptible"]


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt where work that was interrupted ends with another error.

    Kafka's client, which is C, goes on with the KeyboardInterrupt set: Python calls that a SystemError, and
    gives the interruption as its cause. Or the client drops it, and the work ends when a time limit does.
    """
    with _noted() as was_pressed:
        try:
            yield
        except SystemError as e:
            if isinstance(e.__cause__, KeyboardInterrupt):
                raise e.__cause__ from None
            raise
        except FrazilError:
            if was_pressed():
                raise KeyboardInterrupt from None
            raise


class _Noting:
    """A handler that counts each Ctrl-C, and then does what Python does."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        signal.default_int_handler(number, frame)


@contextmanager
def _noted() -> Iterator[Callable[[], bool]]:
    """Tells whether Ctrl-C was pressed since; never, where another thread or handler takes it."""
    before = signal.getsignal(signal.SIGINT)
    if isinstance(before, _Noting):  # of a block around this one
        count = before.count
        yield lambda: before.count > count
    elif before is signal.default_int_handler and current_thread() is main_thread():
        noting = _Noting()
        signal.signal(signal.SIGINT, noting)
        try:
            yield lambda: noting.count > 0
        finally:
            signal.signal(signal.SIGINT, before)
    else:
        yield lambda: False
