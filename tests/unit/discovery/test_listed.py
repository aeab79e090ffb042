"""`frazil discover --fields`: a list of fields, written, read, and decoding what it was drafted from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from frazil.discovery.files import write_pipelines
from frazil.discovery.findings import Finding
from frazil.discovery.halves import Proposal
from frazil.discovery.proposal import propose
from frazil.discovery.sample import Sample
from frazil.formats.json.given.format import FieldsDecoder
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings

ORDERS: list[dict[str, Any]] = [
    {
        "id": n, "at": f"2026-11-26T10:00:0{n}Z", "day": "2026-11-26", "seen_at": 1_795_687_200_000 + n,
        "price": 1.5, "ok": True, "tags": ["a", "b"], "lines": [{"n": 1}], "code": "x" if n else 1,
        "user": {"id": n, "full.name": "Ann", ":[}": {"deep": None}}, "{{env('HOME')}}": 1,
    }
    for n in range(5)
]  # fmt: skip


def sample(*values: dict[str, Any]) -> Sample:
    texts = [json.dumps(value).encode() for value in values]
    return Sample(
        (None,) * len(texts), tuple(texts), (0,) * len(texts), tuple((0, 10 + n) for n in range(len(texts)))
    )


def proposal(*values: dict[str, Any]) -> Proposal:
    drafted, _ = propose("orders", sample(*values), None, {}, listed=True)
    assert drafted
    return drafted


def test_fields_are_listed_by_their_values_wherever_they_are() -> None:
    drafted = proposal(*ORDERS)

    listed = {each.pop("name"): each for each in drafted.table["fields"]}
    assert all(each.pop("optional") for each in listed.values())
    assert listed == {
        "id": {"type": "long"}, "at": {"type": "timestamptz"}, "day": {"type": "date"},
        "seen_at": {"type": "timestamptz", "unit": "millis"}, "price": {"type": "double"},
        "ok": {"type": "boolean"}, "tags": {"type": "list<string>"}, "lines": {"type": "json"},
        "code": {"type": "json"}, "user_id": {"type": "long", "path": "user.id"},
        "full.name": {"type": "string", "path": ["user", "full.name"]},
        "deep": {"type": "json", "path": "user.:[}.deep"},
    }  # fmt: skip


def test_each_says_in_how_many_records_it_is_and_what_speaks_against_its_type() -> None:
    drafted = proposal(*ORDERS[:3], {"id": 9, "code": "y"})

    assert drafted.reasons["id"] == "in 4 of 4 records"
    assert drafted.reasons["day"] == "in 3 of 4 records; not in 0:13"
    assert drafted.reasons["code"] == "in 4 of 4 records; mostly string, but integer 1 times, first in 0:10"


def test_the_list_is_read_as_it_was_written_and_decodes_the_records(tmp_path: Path) -> None:
    drafted = proposal(*ORDERS)

    (file,) = write_pipelines(tmp_path, [Finding("orders", 1, 5, 5, 1, None, (drafted,))])

    lines = [line for line in file.read_text().splitlines() if "- {name: " in line]
    assert lines[1].strip() == "- {name: at, type: timestamptz, optional: true}  # in 5 of 5 records"
    (pipeline,) = load_pipelines([tmp_path], Settings()).all()
    (spec,) = pipeline.tables
    assert [f.model_dump(exclude_unset=True) for f in spec.fields] == [
        {**each, "path": tuple(each["path"])} if isinstance(each.get("path"), list) else each
        for each in drafted.table["fields"]
    ]
    by = FieldsDecoder(spec.fields)
    for value in sample(*ORDERS).values:
        row = by.values(value or b"")
        assert row
        assert row["user_id"] == row["id"]
