"""Glue as a target: rights are asked for of an entry that is not there, which changes nothing.

Glue looks at what the caller may do before it looks for the entry.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from frazil.doctor.probe import PREFIX, Patient, Probe, Probes, Unproven
from frazil.publishing.glue import Glue
from frazil.publishing.glue_answers import glue_errors
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal, statement


def probes(patient: Patient) -> Probes:
    """Each database, then the entry of each table."""
    settings, client = patient.connections.settings, patient.connections.glue
    targets = [Glue(spec, settings) for spec in patient.shown_in(Glue.word)]
    for database in sorted({target.database for target in targets if not target.maker}):
        entry = _Entry(client, database)
        for right, ask, action in (
            ("find the database", entry.find_database, "glue:CreateDatabase"),
            ("get an entry", entry.get, ""),
            ("update an entry", entry.update, ""),
            ("make an entry", entry.make, "glue:CreateTable"),
        ):
            mend = statement(action, "*") if action else ""
            finding = yield Probe(right, partial(_asked, settings, ask), f"database {database}", mend)
            if finding.status == "down":
                return
    for target in targets:
        yield Probe("read the table's entry", partial(target.read, patient.connections), target.relations[0])


def _asked(settings: Settings, ask: Callable[[], None]) -> None:
    with glue_errors(settings):
        ask()


class _Entry:
    """An entry that is not there."""

    def __init__(self, client: Any, database: str) -> None:
        self._client, self._database = client, database
        self._named = {"DatabaseName": database, "Name": f"{PREFIX}{secrets.token_hex(8)}"}
        self._wanted = {"DatabaseName": database, "TableInput": {"Name": self._named["Name"]}}
        self._missing = client.exceptions.EntityNotFoundException

    def find_database(self) -> None:
        try:
            self._client.get_database(Name=self._database)
        except self._missing:
            raise Unproven("It is not there; the first sync makes it.") from None

    def get(self) -> None:
        self._ask(self._client.get_table, **self._named)

    def update(self) -> None:
        self._ask(self._client.update_table, **self._wanted)

    def make(self) -> None:
        """Makes one, where it can be deleted again."""
        try:
            self._ask(self._client.delete_table, **self._named)
        except Exception as e:
            if aws_refusal(e):
                raise Unproven("Without glue:DeleteTable it would stay.") from None
            raise
        try:
            self._ask(self._client.create_table, **self._wanted)
        finally:
            self._ask(self._client.delete_table, **self._named)

    def _ask(self, call: Callable[..., object], **arguments: Any) -> None:
        with suppress(self._missing):
            call(**arguments)
