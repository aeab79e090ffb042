"""What is no answer of Glue, of a REST catalog or of Snowflake is told as such; it is no fault of Frazil."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from snowflake.connector.errors import ProgrammingError

from frazil.clients import Clients
from frazil.errors import ConfigureError, PartDownError, RepairError
from frazil.landing.schema.tables import ensure_table
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.statements import Relation
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.snowflake.views.kept import KeptViews
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors, open_catalog
from frazil.tables.catalogs.handle import TableHandle
from kit.derived.made_tables import fresh_catalog
from kit.tables import commits
from kit.wires.answering import Rows, Server, at_hand, serving

SPEC = TableSpec(topic="t", namespace="n")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.mark.parametrize(
    "table",
    [
        None,
        {},
        {"Table": {}},
        {"Table": {"Parameters": ["a"]}},
        {"Table": {"Parameters": {"metadata_location": {}}, "VersionId": "1"}},
        {"Table": 7},
        ["a"],
    ],
)
def test_an_entry_of_another_shape_is_none_of_glues(server: Server, table: Any) -> None:
    aws = {"access_key": "key", "secret_key": "secret"}
    lake = Clients(Settings(glue={"endpoint": server.url}, aws=aws))
    server.answers = {"GetTable": (200, {}, json.dumps(table).encode())}

    with pytest.raises(RepairError, match="does not answer as Glue does"):
        Glue(SPEC, lake.settings).read(lake)


@pytest.mark.parametrize(
    ("status", "cut"),
    [(200, b'{"Table": {"Name": "t", "Param'), (400, b'{"__type": "EntityNotFoundException", "Mess')],
    ids=["entry", "refusal"],
)
def test_an_answer_that_is_cut_in_its_middle_is_lost_and_none_of_another_shape(
    server: Server, status: int, cut: bytes
) -> None:
    lake = Clients(Settings(glue={"endpoint": server.url}, aws={"access_key": "key", "secret_key": "secret"}))
    server.answers = {"GetTable": (status, {}, cut)}

    with catalog_errors(lake.settings), pytest.raises(PartDownError, match="does not answer"):
        Glue(SPEC, lake.settings).read(lake)


@pytest.mark.parametrize(("version", "expected"), [("7", 7), ("9" * 5000, 0), ("\u00b2", 0), ("x", 0)])
def test_a_version_of_any_form_is_sent_back_and_told_where_it_is_a_number(
    server: Server, version: str, expected: int
) -> None:
    lake = Clients(Settings(glue={"endpoint": server.url}, aws={"access_key": "key", "secret_key": "secret"}))
    entry = {"Table": {"Name": "t", "Parameters": {"metadata_location": "x"}, "VersionId": version}}
    server.answers = {"GetTable": (200, {}, json.dumps(entry).encode())}

    shown = Glue(SPEC, lake.settings).read(lake)

    assert shown
    assert shown.facts == {"version": expected}


def test_an_empty_version_is_not_sent_back() -> None:
    with at_hand() as server:
        lake = Clients(
            Settings(glue={"endpoint": server.url}, aws={"access_key": "key", "secret_key": "secret"})
        )
        lake.__dict__["catalog"] = fresh_catalog()
        ensure_table(commits.SPEC, TableHandle(lake.catalog, commits.NAME), commits.COLUMNS)
        entry = {"Table": {"Name": "t", "Parameters": {}, "VersionId": ""}}
        server.answers = {
            "GetTable": (200, {}, json.dumps(entry).encode()),
            "GetDatabase": (200, {}, b"{}"),
        }

        with pytest.raises(RepairError, match="does not answer as Glue does"):
            Glue(SPEC.model_copy(update={"foreign_commits": "restore"}), lake.settings).sync(lake)


@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_refusal_without_words_is_glues(server: Server, status: int) -> None:
    aws = {"access_key": "key", "secret_key": "secret"}
    lake = Clients(Settings(glue={"endpoint": server.url}, aws=aws))
    server.answers = {"GetTable": (status, {}, b"{}")}

    with pytest.raises(ConfigureError, match="Glue refuses the request"):
        Glue(SPEC, lake.settings).read(lake)


@pytest.mark.parametrize("status", [400, 409])
def test_a_refusal_without_words_is_the_catalogs(server: Server, status: int) -> None:
    settings = Settings(rest={"uri": server.url, "token": "token"})
    server.answers = {
        "v1/config": (200, {}, b'{"defaults": {}, "overrides": {}}'),
        "tables": (status, {}, b"[]"),
    }

    with (
        pytest.raises(ConfigureError, match="The Iceberg catalog refuses the request"),
        catalog_errors(settings),
    ):
        TableHandle(open_catalog(settings), TableName("n", "t")).load()


NOTES = b'{"defaults": {}, "overrides": {}}'


@pytest.mark.parametrize("body", [b'{"defaults": null}', b'{"overrides": null}'])
def test_a_configuration_of_another_shape_is_no_catalogs(server: Server, body: bytes) -> None:
    server.answers = {"v1/config": (200, {}, body)}

    with pytest.raises(RepairError, match="does not answer as an Iceberg catalog does") as refused:
        open_catalog(Settings(rest={"uri": server.url, "token": "token"}))

    with serving() as catalog:
        catalog.answers = {"v1/config": (200, {}, NOTES)}
        assert open_catalog(Settings(rest={"uri": catalog.url, "token": "token"}))
    assert str(refused.value.todo).startswith("Fix the address in the settings")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schemas",), []),
        (("current-schema-id",), 7),
        (("properties",), "x"),
        (("schemas", 0, "fields", 0, "type"), {"id": 1, "name": "a", "type": "long", "required": True}),
    ],
)
def test_a_table_of_another_shape_is_no_catalogs(server: Server, place: tuple[Any, ...], value: Any) -> None:
    catalog = fresh_catalog()
    ensure_table(commits.SPEC, TableHandle(catalog, commits.NAME), commits.COLUMNS)
    metadata = json.loads(catalog.load_table(commits.NAME.identifier).metadata.model_dump_json())
    part = metadata
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    table = {"metadata-location": "x.json", "metadata": metadata, "config": {}}
    server.answers = {"v1/config": (200, {}, NOTES), "/tables/": (200, {}, json.dumps(table).encode())}
    settings = Settings(rest={"uri": server.url, "token": "token"})

    with pytest.raises(RepairError, match="does not answer as an Iceberg catalog does"):
        TableHandle(open_catalog(settings), commits.NAME).load()


@pytest.mark.parametrize("information", ["{", "[]", '{"other": 1}', "7"])
def test_rows_of_another_form_are_none_of_snowflakes(information: str) -> None:
    lake = Clients(Settings(snowflake={"account": "a"}))

    answers_left = [information, '{"metadataLocation": "s3://lake/v1.metadata.json"}']

    @contextmanager
    def opened() -> Iterator[Any]:
        yield Rows({"GET_ICEBERG": [[answers_left.pop(0)]], "COUNT": [[0]]})

    lake.snowflake = opened  # type: ignore[method-assign]
    with pytest.raises(RepairError, match="another form") as refused:
        Snowflake(SPEC, lake.settings).read(lake)

    assert str(refused.value.todo).startswith("Try again; if it stays so, Snowflake has changed")
    assert Snowflake(SPEC, lake.settings).read(lake).metadata_location == "s3://lake/v1.metadata.json"


class Refusing(Rows):
    """The same, which refuses statements with some words, and remembers all others."""

    def __init__(self, answers: dict[str, Any], refused: str) -> None:
        super().__init__(answers)
        self.refused, self.sent = refused, list[str]()

    def execute(self, sql: str) -> None:
        if self.refused in sql:
            raise ProgrammingError("the file of a data file is gone", errno=90105)
        self.sent.append(sql)
        super().execute(sql)


def test_of_a_table_that_snowflake_can_not_read_no_view_is_made() -> None:
    table, name = Relation("FRAZIL", "N", "T"), TableName("n", "t")
    views = KeptViews(SPEC, Settings(snowflake={"account": "a"}), name, table, folds=False)
    connection = Refusing({}, f"FROM {table} WHERE FALSE")

    with pytest.raises(ProgrammingError, match="the file of a data file is gone"):
        views.keep(connection)

    assert connection.sent == []
