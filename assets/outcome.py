"""What the engine's errors mean to a Dagster run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import dagster as dg
from dagster._core.errors import DagsterUserCodeProcessError
from dagster_shared.error import SerializableErrorInfo

from frazil import errors as errors_module
from frazil.alarms.journal import Cause
from frazil.errors import FaultError, FrazilError, RetryError, explain

ERRORS = "errors"
"""Metadata of a failure: by table the class and the text of its error; "" where it is of no single one."""

_SHOWN = 10  # tables that are named where many failed alike

RETRIES = 2
SECONDS_BETWEEN = 5


class ExplainedFailure(DagsterUserCodeProcessError, dg.Failure):
    """A failure whose page shows what happened and what to do, and no trace.

    Dagster shows an error that another process sent as that one told it, and adds no trace of its own.
    """

    def __init__(self, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        shown = SerializableErrorInfo(message=f"{text}\n", stack=[], cls_name=dg.Failure.__name__)
        super().__init__(  # type: ignore[no-untyped-call]
            text, metadata=metadata, allow_retries=False, user_code_process_error_infos=[shown]
        )


@contextmanager
def engine_errors() -> Iterator[None]:
    """Runs the engine: what may succeed later is tried again, all else fails with its own words."""
    try:
        yield
    except RetryError as e:
        # Without its trace, which the page would show when no try is left.
        again = dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=SECONDS_BETWEEN)
        raise again from e.with_traceback(None)
    except FrazilError as e:
        raise ExplainedFailure(str(e), {ERRORS: {"": _named(e)}}) from None


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
    reasons = "\n\n".join(f"{_listed(tables)}: {text}" for text, tables in _by_text(failed).items())
    errors = {table: _named(error) for table, error in failed.items()}
    metadata: dict[str, Any] = {"failed": len(failed), "done": of - len(failed), ERRORS: errors}
    return ExplainedFailure(f"{len(failed)} of {of} {things} {why}.\n\n{reasons}", metadata)


def _by_text(failed: Mapping[str, Exception]) -> dict[str, list[str]]:
    """Each text once, with all tables that it is of: an outage lets a thousand fail alike."""
    met: dict[str, list[str]] = {}
    for table, error in sorted(failed.items()):
        met.setdefault(str(explain(error)), []).append(table)
    return met


def _listed(tables: Sequence[str]) -> str:
    more = f" and {len(tables) - _SHOWN} more" if len(tables) > _SHOWN else ""
    return ", ".join(tables[:_SHOWN]) + more


def _named(error: Exception) -> list[str]:
    explained = explain(error)
    return [type(explained).__name__, str(explained)]


def causes_of(event: dg.DagsterEvent) -> Mapping[str, Cause]:
    """Why a step failed, by table; none where a check failed, which speaks for itself."""
    failed = event.step_failure_data
    data = failed.user_failure_data
    if data and ERRORS in data.metadata:
        errors = cast("Mapping[str, list[str]]", data.metadata[ERRORS].value)
        return {table: Cause(name, text) for table, (name, text) in errors.items()}
    error = failed.error
    while error and error.cause:
        error = error.cause
    if error is None or error.cls_name == "DagsterAssetCheckFailedError":
        return {}
    is_ours = issubclass(getattr(errors_module, error.cls_name or "", Exception), FrazilError)
    text = error.message.partition(": ")[2] if is_ours else error.message
    return {"": Cause(str(error.cls_name) if is_ours else FaultError.__name__, text.strip())}
