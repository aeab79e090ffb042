"""A column that was renamed between two landings: its rows are compared as strictly, whoever renamed it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from frazil_verify.findings import Report
from frazil_verify.log.registry import Schemas
from frazil_verify.request import Request
from frazil_verify.verification import Verification
from kit.planted.columns import Values
from kit.planted.tables import Case, Given, asked, case_of, landed_rows
from kit.planted.topics import Shape

WAS, NOW = "large", "quantity"
NEWEST = b"\0\0\0\0\x09"
"""What begins the records that have the new name."""


def renamed(text: str) -> str:
    return text.replace(f'"{WAS}":', f'"{NOW}":')


def case() -> Case:
    """A topic whose newest version calls the field by the new name."""
    made = case_of(Shape("json", "append", evolved=True, compacted=False, letters=False), Random("renamed"))
    made.topic.records = [
        replace(each, value=renamed(each.value.decode("latin-1")).encode("latin-1"))
        if each.value and each.value.startswith(NEWEST)
        else each
        for each in made.topic.records
    ]
    return made


def answers(made: Case) -> dict[str, Any]:
    known = {path: dict(a) if isinstance(a, dict) else a for path, a in made.topic.schemas.items()}
    for answer in known.values():
        if isinstance(answer, dict) and answer["id"] == NEWEST[-1]:
            answer["schema"] = renamed(answer["schema"])
    return known


def verified(made: Case, folder: Path, *, noted: bool = True) -> Report:
    """The verdict on the table of a case, whose second schema has the column under its new name.

    Args:
        noted: Whether a migration renamed it, else another engine.
    """
    request = Request.model_validate(asked(made, folder))
    file = Path(urlsplit(request.metadata).path)
    document = json.loads(file.read_text())
    for field in document["schemas"][-1]["fields"]:
        field["name"] = NOW if field["name"] == WAS else field["name"]
    if noted:
        migrations = {"1": {"did": f"rename {WAS} to {NOW}", "field_id": 1, "kept": False}}
        document.setdefault("properties", {})["frazil.migrations"] = json.dumps(migrations)
    file.write_text(json.dumps(document))
    schemas = Schemas(answers(made).get)
    return Verification(request, folder / "entries", Given(made.topic), schemas).report()


@pytest.mark.parametrize("noted", [True, False])
def test_rows_of_both_names_are_right(noted: bool, tmp_path: Path) -> None:
    report = verified(case(), tmp_path, noted=noted)

    assert report.is_sound, report.samples
    assert report.not_compared == {}
    assert report.rows == report.records - report.bad_records


@pytest.mark.parametrize("landing", [0, 1])
@pytest.mark.parametrize("lost", [True, False])
def test_a_value_that_is_lost_or_altered_is_found_before_and_after(
    landing: int, lost: bool, tmp_path: Path
) -> None:
    made = case()
    row: Values = landed_rows(made, landing)[0]
    row[WAS] = None if lost else row[WAS] ^ 1

    report = verified(made, tmp_path)

    assert [(f.kind, f.partition, f.offset, f.columns) for f in report.samples] == [
        ("altered", row["$$partition"], row["$$offset"], (NOW,))
    ]
