"""What derivations are told to do again is done again, in memory: each row of the input counts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyspark.errors import PySparkException
from pyspark.sql import types as t

from frazil.derive.derive import derive
from frazil.derive.output import ensure_output
from frazil.derive.positions.inputs import at_head
from frazil.errors import (
    CommitConflictError,
    DifferentError,
    FrazilError,
    MissingError,
    OvertakenError,
)
from frazil.formats.columns.columns import table_fields
from frazil.formats.types import to_iceberg
from frazil.landing.land import land
from frazil.landing.position.ledger import ledgers
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.catalogs.handle import TableHandle
from kit.model.parts.edges import COLUMNS, edges
from kit.model.parts.stage import Dice
from kit.model.works import derivations
from kit.model.works.derivations import MADE, made_spec
from kit.model.world import NAME, SPEC, World


@pytest.fixture
def world() -> Iterator[World]:
    """A table of two landings."""
    with edges() as doubles:
        doubles.world = world = World(Dice())
        for _ in range(2):
            world.produce(0)
            land(SPEC, world.connections)
        yield world
        assert world.oracle.broken is None


def made(world: World) -> list[int]:
    """The offsets whose rows the derived table has."""
    table = world.catalog.look(MADE.identifier)
    return sorted(at for _, _, at in world.store.rows(table, table.metadata.current_snapshot_id))


def once(step: str, others: Callable[[], object]) -> Callable[[str], None]:
    """What others do at the first such step."""
    done: list[str] = []

    def on_step(done_step: str) -> None:
        if done_step == step and not done:
            done.append(done_step)
            others()

    return on_step


def todo_of(error: type[FrazilError], what: Callable[[], object]) -> str:
    with pytest.raises(error) as refused:
        what()
    return refused.value.todo or ""


@contextmanager
def others_are_quicker(world: World) -> Iterator[None]:
    """Every commit of the derived table is refused, for others were quicker."""
    send = world.catalog.commit_table

    def refuse(table: Any, *of: Any) -> Any:
        if table.name()[-1] == MADE.table:
            raise CommitFailedException("Requirement failed: branch main has changed")
        return send(table, *of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.catalog, "commit_table", refuse)
        yield


@contextmanager
def a_job_that_fails(text: str) -> Iterator[None]:
    """Spark ends each job with an error."""

    def fail(*_: Any) -> Any:
        raise PySparkException(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derivations, "found_at", fail)
        yield


def test_a_derivation_that_another_one_overtook_leaves_the_rows_that_wait_to_the_next(world: World) -> None:
    other = once("written", lambda: derive(made_spec(), world.connections))
    todo = todo_of(OvertakenError, lambda: derive(made_spec(), world.connections, on_step=other))
    assert made(world) == [0, 1]

    world.produce(0)
    land(SPEC, world.connections)
    derive(made_spec(), world.connections)

    assert todo == "Nothing. Derive again if rows wait."
    assert made(world) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "org.apache.iceberg.exceptions.NotFoundException: s3://lake/a.parquet",
            "Derive again: others expire or rewrite the inputs at the same time.",
        ),
        ("org.apache.iceberg.exceptions.CommitFailedException: Cannot commit", "Derive again."),
    ],
)
def test_a_derivation_whose_job_met_others_is_made_again(world: World, text: str, expected: str) -> None:
    with a_job_that_fails(text):
        assert todo_of(CommitConflictError, lambda: derive(made_spec(), world.connections)) == expected

    derive(made_spec(), world.connections)

    assert made(world) == [0, 1]


def test_a_derivation_that_could_not_follow_a_rollback_follows_it_when_it_is_made_again(
    world: World,
) -> None:
    derive(made_spec(), world.connections)
    world.produce(0)
    land(SPEC, world.connections)
    derive(made_spec(), world.connections)
    roll_back(SPEC, world.connections, [s.snapshot_id for s, _ in ledgers(world.table.metadata)][1])

    with others_are_quicker(world):
        todo = todo_of(CommitConflictError, lambda: derive(made_spec(), world.connections))
    assert made(world) == [0, 1, 2]
    derive(made_spec(), world.connections)

    assert todo == "Derive again."
    assert made(world) == [0, 1]


def test_a_derivation_that_another_one_overtook_in_following_a_rollback_leaves_the_rest_to_the_next(
    world: World,
) -> None:
    derive(made_spec(), world.connections)
    world.produce(0)
    land(SPEC, world.connections)
    derive(made_spec(), world.connections)
    roll_back(SPEC, world.connections, [s.snapshot_id for s, _ in ledgers(world.table.metadata)][1])
    send, others = world.catalog.commit_table, list[str]()

    def late(table: Any, *of: Any) -> Any:
        if table.name()[-1] == MADE.table and not others:
            others.append("come first")
            land(SPEC, world.connections)
            derive(made_spec(), world.connections)
            raise CommitFailedException("Requirement failed: branch main has changed")
        return send(table, *of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.catalog, "commit_table", late)
        todo = todo_of(OvertakenError, lambda: derive(made_spec(), world.connections))
    world.produce(0)
    land(SPEC, world.connections)
    derive(made_spec(), world.connections)

    assert todo == "Nothing. Derive again if rows wait."
    assert made(world) == [0, 1, 2, 3]


def test_a_table_of_other_rows_is_left_alone_by_a_spec_of_another_name(world: World) -> None:
    land(SPEC.model_copy(update={"table": "other"}), world.connections)
    before = world.catalog.look(("n", "other")).metadata
    taken = made_spec().model_copy(update={"table": "other"})

    todo = todo_of(DifferentError, lambda: derive(taken, world.connections))
    derive(taken.model_copy(update={"table": MADE.table}), world.connections)

    assert todo == "Give the derived table another name in its spec."
    assert made(world) == [0, 1]
    assert world.catalog.look(("n", "other")).metadata == before


def test_columns_that_others_came_before_are_added_when_it_is_derived_again(world: World) -> None:
    derive(made_spec(), world.connections)
    wider = cast("Any", SimpleNamespace(schema=t.StructType().add("quantity", "long").add("note", "string")))

    def output() -> Any:
        return ensure_output(made_spec(), TableHandle(world.catalog, MADE), wider, "t")

    with others_are_quicker(world):
        todo = todo_of(CommitConflictError, output)

    assert todo == "Derive it again."
    assert "note" in output().schema().column_names
    assert made(world) == [0, 1]


def test_a_table_that_nothing_was_written_to_is_an_input_once_its_topic_is_landed() -> None:
    with edges() as doubles:
        doubles.world = world = World(Dice())
        world.produce(0)
        empty = world.catalog.create_table(NAME.identifier, to_iceberg(table_fields(SPEC, COLUMNS)))
        todo = todo_of(MissingError, lambda: at_head(empty))

        land(SPEC, world.connections)
        derive(made_spec(), world.connections)

        assert todo == "Land its topic, or derive it, first."
        assert at_head(world.table).snapshot == world.table.metadata.current_snapshot_id
        assert made(world) == [0]
