"""What the engine's errors mean to a Dagster run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from frazil.errors import FrazilError, RetryError

__all__ = ["RETRIES", "engine_errors"]

RETRIES = 2
SECONDS_BETWEEN = 5


@contextmanager
def engine_errors() -> Iterator[None]:
    """Runs the engine: what may succeed later is tried again, all else fails with its own words.

    Raises:
        dg.RetryRequested: A server did not answer, or others were quicker.
        dg.Failure: A person must look at it.
    """
    try:
        yield
    except RetryError as e:
        raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=SECONDS_BETWEEN) from e
    except FrazilError as e:
        raise dg.Failure(description=str(e), allow_retries=False) from None
