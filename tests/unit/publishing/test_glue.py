"""The Glue entry over a wire that loses answers: it is looked up before anything is sent again."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.clients import Clients
from frazil.errors import PartDownError
from frazil.publishing.glue import Glue
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.derived.made_tables import fresh_catalog
from kit.wires.wire import Asked, Fate, Wire, commits

SPEC = TableSpec(topic="orders")
DONE: tuple[Fate, ...] = ("dropped", "cut", "failed", "replayed", "late", "trickles")
UNDONE: tuple[Fate, ...] = ("unsent", "halved", "refused", "throttled")


class Lake(Clients):
    """An environment whose catalog is in this process."""

    @cached_property
    def catalog(self) -> InMemoryCatalog:
        catalog = fresh_catalog()
        catalog.create_namespace("local")
        catalog.create_table("local.orders", Schema(NestedField(1, "id", LongType(), required=False)))
        return catalog


@pytest.fixture
def lake(wire_and_url: tuple[Wire, str], fresh_database: str) -> Lake:
    """Asks Glue over the wire."""
    return lake_at(wire_and_url[1], fresh_database)


def lake_at(glue: str, database: str) -> Lake:
    options = {"s3": {"endpoint": "http://127.0.0.1:1"}, "aws": {"access_key": "key", "secret_key": "secret"}}
    return Lake(Settings.load(glue={"endpoint": glue, "database": database}, **options))


@pytest.fixture
def fresh_database(tmp_path: Path) -> str:
    """A name that no other test has."""
    return tmp_path.name


def moved_on(lake: Lake) -> str:
    """Commits to the table; returns where its metadata is now."""
    with lake.catalog.load_table("local.orders").transaction() as tx:
        tx.set_properties({"moved": "on"})
    return lake.catalog.load_table("local.orders").metadata_location


def updates(wire: Wire) -> int:
    """Requests that change an entry, so far."""
    return sum(commits(asked) for asked in wire.asked)


@pytest.mark.parametrize("fate", [*DONE, *UNDONE])
def test_an_update_whose_answer_is_lost_is_looked_up_and_sent_again_only_where_it_was_not_done(
    lake: Lake, wire: Wire, fate: Fate
) -> None:
    glue = Glue(SPEC, lake.settings)
    glue.sync(lake)
    current, before = moved_on(lake), updates(wire)
    wire.once(fate)

    shown = glue.sync(lake)

    assert (shown.metadata_location, shown.changed) == (current, True)
    assert updates(wire) - before == (2 if fate in UNDONE else 1)
    assert not glue.sync(lake).changed


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed", "unsent"])
def test_a_first_entry_whose_answer_is_lost_is_there_once(lake: Lake, wire: Wire, fate: Fate) -> None:
    wire.once(fate, _creates_the_entry)

    shown = Glue(SPEC, lake.settings).sync(lake)

    assert shown.changed
    assert Glue(SPEC, lake.settings).read(lake) is not None


def test_glue_keeps_one_version_of_an_entry_however_often_it_is_published(lake: Lake) -> None:
    glue = Glue(SPEC, lake.settings)
    glue.sync(lake)
    moved_on(lake)
    glue.sync(lake)

    kept = lake.glue.get_table_versions(DatabaseName=glue.database, TableName="orders")["TableVersions"]

    assert [version["VersionId"] for version in kept] == ["2"]


def test_a_glue_that_never_answers_is_said_to_be_silent_and_nothing_is_claimed(
    lake: Lake, wire: Wire
) -> None:
    glue = Glue(SPEC, lake.settings)
    glue.sync(lake)
    moved_on(lake)
    wire.always("unsent")

    with pytest.raises(PartDownError, match="Glue does not answer") as silent:
        glue.sync(lake)

    assert "its Glue entry may be behind" in str(silent.value)


def test_a_glue_that_nobody_runs_is_said_to_be_silent(fresh_database: str) -> None:
    nowhere = lake_at("http://127.0.0.1:1", fresh_database)

    with pytest.raises(PartDownError, match="Glue does not answer"):
        Glue(SPEC, nowhere.settings).sync(nowhere)


def _creates_the_entry(asked: Asked) -> bool:
    return asked.operation == "CreateTable"
