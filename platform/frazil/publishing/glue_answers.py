"""Asking Glue and sending to it: what its answers mean, and what they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import stamina

from frazil.errors import MALFORMED, ConfigureError, PartDownError, RepairError
from frazil.publishing.columns import columns_in
from frazil.settings.nearby import to_start
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal
from frazil.tables.catalogs.catalog import is_lost

T = TypeVar("T")

MEANING = "The Iceberg table is right; its Glue entry may be behind."


class Again(Exception):
    """Glue refused the version, or its answer was lost: look the entry up, then decide."""


def entry_of(client: Any, database: str, table: str) -> dict[str, Any] | None:
    """One entry; None where Glue has none."""
    try:
        answer = ask(partial(client.get_table, DatabaseName=database, Name=table))
    except client.exceptions.EntityNotFoundException:
        return None
    with answers():
        return _checked(answer["Table"])


def entries_of(client: Any, database: str) -> dict[str, dict[str, Any]]:
    """All entries of a database by name, a hundred per request; none where there is no such database."""
    pages = client.get_paginator("get_tables").paginate(DatabaseName=database)
    try:
        entries = ask(lambda: [each for page in pages for each in page["TableList"]])
    except client.exceptions.EntityNotFoundException:
        return {}
    with answers():
        return {each["Name"]: _checked(each) for each in entries if "Parameters" in each}


def _checked(raw: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(raw["Parameters"])
    if odd := [value for value in parameters.values() if not isinstance(value, str)]:
        raise TypeError(f"{odd[0]!r:.100} is no parameter of a table")
    columns_in(raw)
    return {**raw, "Parameters": parameters, "VersionId": str(raw["VersionId"])}


@contextmanager
def glue_errors(settings: Settings) -> Iterator[None]:
    """Says what is known where Glue's answers are lost, and what is missing where it does not allow them."""
    from botocore.exceptions import ClientError

    try:
        yield
    except Exception as e:
        if refusal := aws_refusal(e):
            raise refusal from None
        if isinstance(e, ClientError) and not is_lost(e):
            raise ConfigureError(
                "Glue refuses the request.",
                where=f"{e!s:.300}",
                meaning=MEANING,
                todo="Fix what Glue names, or FRAZIL_GLUE__... in the settings.",
            ) from e
        if not is_lost(e):
            raise
        raise PartDownError(
            "Glue does not answer.",
            where=f"{settings.glue_endpoint or 'Glue'} ({type(e).__name__})",
            meaning=MEANING,
            todo=to_start(settings.glue_endpoint or ""),
        ) from e


def send(client: Any, request: Callable[[], Any]) -> None:
    """Sends what changes something, once; the client repeats nothing by itself.

    Raises Again where another one was quicker, or it is not known what became of the request.
    """
    known = client.exceptions
    try:
        with answers():
            request()
    except (known.AlreadyExistsException, known.ConcurrentModificationException) as e:
        raise Again from e
    except Exception as e:
        if is_lost(e):
            raise Again from e
        raise


def ask(question: Callable[[], T]) -> T:
    """The answer to what changes nothing, and so may be asked again."""
    for attempt in stamina.retry_context(on=is_lost, attempts=3, wait_initial=0.1, wait_max=1.0):
        with attempt, answers():
            return question()
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def answers() -> Iterator[None]:
    """Refuses what is no answer of Glue's, also where it is sent back."""
    from botocore.exceptions import ParamValidationError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except (ResponseParserError, ParamValidationError, *MALFORMED) as e:
        raise RepairError(
            "What stands at Glue's address does not answer as Glue does.",
            where=f"{type(e).__name__}: {e!s:.300}",
            meaning=MEANING,
            todo="Fix FRAZIL_GLUE__ENDPOINT: a proxy, or another server, may stand there.",
        ) from e
