"""Whoever commits to a table may write its summaries and properties: they are read, or refused in words."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from frazil.derive.feeds.position import FedTo, noted
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.landing.position.ledger import Ledger, bytes_per_record, read_ledger
from frazil.landing.position.standing import _standing
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.pointers import Pointer
from frazil.tables.commits.leftovers import dead_branches
from frazil.tables.layout import LAYOUT, _applied
from frazil.tables.migrations import MIGRATIONS, retired
from frazil.upkeep.expiry.retention import plan_expiry
from frazil.upkeep.facts import read_facts, read_history
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator
from kit.tables.commits import NAME, lake_on
from kit.wires.lying import LyingCatalog

_UPKEEP = Upkeep(min_snapshots=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """One with every note that Frazil makes."""
    lake = lake_on(LyingCatalog(tmp_path))
    entry = DerivedLedger(
        {"n.u": Position("uuid", 7, 1)}, "query", "deriving_1", read={"n.u": 3}, watermark=1
    )
    rename = {"did": "rename a to b", "field_id": 1, "kept": True}
    with lake.table.transaction() as tx:
        tx.set_properties(
            {
                **entry.properties(),
                **_ledger(lake.table).properties(),
                MIGRATIONS: json.dumps({"a": rename}),
                LAYOUT: json.dumps({"partition_by": ["a"], "write": {"a": "b"}}),
                "frazil.fed.t": FedTo(Position("uuid", 7, 1), 3, False, 5, "id").text(),
                "frazil.upkeep.compaction": json.dumps({"at": 1.5, "text": "x", "snapshot_id": 7}),
            }
        )
    return lake.table


def _ledger(table: Table) -> Ledger:
    newest_ledger = read_ledger(table.metadata)
    assert newest_ledger
    return newest_ledger


def with_broken_notes(mutator: Mutator, good: dict[str, Any]) -> dict[str, Any]:
    """A metadata file in which notes are broken, some of them as JSON that stays JSON."""
    made = json.loads(json.dumps(good))
    dice = mutator.random
    places = [made["properties"], *(s["summary"] for s in made["snapshots"])]
    for notes in dice.sample(places, dice.randint(1, len(places))):
        for name in dice.sample(sorted(notes), min(len(notes), dice.randint(1, 3))):
            notes[name] = _broken(mutator, notes[name])
        if dice.random() < 0.1:
            notes[mutator.word()] = mutator.word()
        if dice.random() < 0.1:
            notes.pop(dice.choice(sorted(notes)))
    if dice.random() < 0.05:
        one, two = dice.sample(made["snapshots"], 2)
        one["parent-snapshot-id"] = two["snapshot-id"]
    return made


def _broken(mutator: Mutator, text: str) -> str:
    try:
        return mutator.document(json.loads(text))
    except ValueError:
        return mutator.text(text)


def read(table: Table, made: dict[str, Any]) -> None:
    try:
        metadata: TableMetadata = TableMetadataUtil.parse_obj(made)
    except ValidationError:
        return  # PyIceberg's own refusal, which test_answers is about
    loaded = Table(NAME.identifier, metadata, table.metadata_location, table.io, table.catalog)
    standing = _standing(Pointer(NAME, "x", metadata))
    assert standing.stopped or standing.ledger is None or standing.ledger.offsets >= 0
    read_facts(metadata)
    read_history(metadata)
    dead_branches(metadata, time.time())
    for note in (
        read_ledger, bytes_per_record, DerivedLedger.newest, retired,
        lambda _: _applied(loaded), lambda _: noted(loaded, "t"),
        lambda metadata: plan_expiry(metadata, _UPKEEP, time.time()),
    ):  # fmt: skip
        note(metadata)


@pytest.mark.filterwarnings("ignore:Encountered invalid snapshot summary")
def test_any_note_is_read_or_refused(table: Table) -> None:
    good = json.loads(table.metadata.model_dump_json(by_alias=True))
    assert fuzz("ledger", lambda mutator: with_broken_notes(mutator, good), lambda made: read(table, made))


def test_the_good_ones_are_read(table: Table) -> None:
    read(table, json.loads(table.metadata.model_dump_json(by_alias=True)))
