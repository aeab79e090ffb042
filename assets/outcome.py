"""What the engine's errors mean to a Dagster run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg

from frazil.errors import FrazilError, RetryError, explain

RETRIES = 2
SECONDS_BETWEEN = 5


@contextmanager
def engine_errors() -> Iterator[None]:
    """Runs the engine: what may succeed later is tried again, all else fails with its own words."""
    try:
        yield
    except RetryError as e:
        raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=SECONDS_BETWEEN) from e
    except FrazilError as e:
        raise dg.Failure(description=str(e), allow_retries=False) from None


def failure(
    context: dg.OpExecutionContext | dg.AssetExecutionContext,
    why: str,
    failed: Mapping[str, Exception],
    of: int,
) -> dg.Failure:
    """One failure for all tables that a step failed at, `why` in words; logs traces that nobody foresaw."""
    for table, error in failed.items():
        if not isinstance(error, FrazilError):
            context.log.error("%s", table, exc_info=error)
    told = "\n\n".join(f"{table}: {explain(error)}" for table, error in sorted(failed.items()))
    metadata: dict[str, Any] = {"failed": len(failed), "done": of - len(failed)}
    return dg.Failure(
        f"{len(failed)} of {of} tables {why}.\n\n{told}", metadata=metadata, allow_retries=False
    )
