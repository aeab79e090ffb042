"""What the engine's errors mean to a Dagster run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import dagster as dg

from frazil import errors as errors_module
from frazil.alarms.journal import Cause
from frazil.errors import FaultError, FrazilError, RetryError, explain

ERRORS = "errors"
"""Metadata of a failure: by table the class and the text of its error; "" where it is of no single one."""

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
        metadata = {ERRORS: {"": _named(e)}}
        raise dg.Failure(description=str(e), metadata=metadata, allow_retries=False) from None


def failure(
    context: dg.OpExecutionContext | dg.AssetExecutionContext,
    why: str,
    failed: Mapping[str, Exception],
    of: int,
    things: str = "tables",
) -> dg.Failure:
    """One failure for all things that a step failed at, `why` in words; logs traces that nobody foresaw."""
    for table, error in failed.items():
        if not isinstance(error, FrazilError):
            context.log.error("%s", table, exc_info=error)
    told = "\n\n".join(f"{table}: {explain(error)}" for table, error in sorted(failed.items()))
    errors = {table: _named(error) for table, error in failed.items()}
    metadata: dict[str, Any] = {"failed": len(failed), "done": of - len(failed), ERRORS: errors}
    return dg.Failure(
        f"{len(failed)} of {of} {things} {why}.\n\n{told}", metadata=metadata, allow_retries=False
    )


def _named(error: Exception) -> list[str]:
    told = explain(error)
    return [type(told).__name__, str(told)]


def causes_of(event: dg.DagsterEvent) -> Mapping[str, Cause]:
    """Why a step failed, by table; none where a check failed, which speaks for itself."""
    failed = event.step_failure_data
    told = failed.user_failure_data
    if told and ERRORS in told.metadata:
        errors = cast("Mapping[str, list[str]]", told.metadata[ERRORS].value)
        return {table: Cause(name, text) for table, (name, text) in errors.items()}
    error = failed.error
    while error and error.cause:
        error = error.cause
    if error is None or error.cls_name == "DagsterAssetCheckFailedError":
        return {}
    is_ours = issubclass(getattr(errors_module, error.cls_name or "", Exception), FrazilError)
    text = error.message.partition(": ")[2] if is_ours else error.message
    return {"": Cause(str(error.cls_name) if is_ours else FaultError.__name__, text.strip())}
