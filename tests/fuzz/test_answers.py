"""What servers answer is anyone's: a table is shown, a schema is read, or it is told who said what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import snowflake.connector  # noqa: F401 - it starts uname
import stamina
from pyiceberg.catalog.memory import InMemoryCatalog
from stamina.instrumentation import set_on_retry_hooks

from frazil.clients import Clients
from frazil.formats.registry.client import registry_client
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.registry.wanted import WantedSchema, version_like
from frazil.landing.schema.tables import ensure_table
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.tables import Snowflake
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs import catalog
from frazil.tables.catalogs.catalog import catalog_errors, open_catalog
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pointers import load_pointers
from kit.derived.made_tables import fresh_catalog
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator
from kit.tables.commits import COLUMNS, NAME, SPEC
from kit.wires.answering import Answer, Answering, Rows, at_hand

_AVRO = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
_VERSION = {"subject": "t-value", "version": 1, "id": 7, "schema": _AVRO, "schemaType": "AVRO"}
_REFERRED = {**_VERSION, "references": [{"name": "B", "subject": "b", "version": 1}]}
_BODIES = (b"", b"<html><title>502</title></html>", b"\xff\xfe", b"null", b"[]", b"{}", b"[" * 10_000)


@pytest.fixture
def server() -> Iterator[Answering]:
    """What answers at once, whoever asks; who asks again does not wait, and prints nothing."""
    set_on_retry_hooks([])
    with at_hand() as server, stamina.set_testing(True, attempts=8, cap=True):
        yield server
    set_on_retry_hooks(None)


def answers(mutator: Mutator, good: dict[str, Any]) -> dict[str, Answer]:
    """Good ones, of which one or all are broken."""
    dice = mutator.random
    broken = set(dice.sample(sorted(good), dice.choice((0, 1, 1, len(good)))))
    return {key: _answer(mutator, body, key in broken) for key, body in good.items()}


def _answer(mutator: Mutator, good: Any, broken: bool) -> Answer:
    if not broken:
        return 200, {}, json.dumps(good).encode()
    dice = mutator.random
    body = mutator.document(good).encode("utf-8", "surrogatepass")
    headers = {"Location": mutator.random.choice(("http://127.0.0.1:1/x", "/", "file:///etc/passwd"))}
    status = dice.choice((200, 200, 200, 200, 200, 200, 204, 301, 307, 400, 401, 404, 409, 422, 500, 503))
    kind = {"Content-Type": dice.choice(("text/html", "application/json", "x", "application/vnd.x+json"))}
    return (
        status,
        headers if status in (301, 307) else kind,
        dice.choice(_BODIES) if dice.random() < 0.2 else body,
    )


def test_any_answer_of_a_registry_is_read_or_refused(server: Answering) -> None:
    client = registry_client(Settings(registry={"url": server.url}))
    client._rest_client.max_retries = 0
    good = {"t-value/versions/latest": _REFERRED, "t-value/versions/1": _REFERRED, "b/versions/1": _VERSION}

    def ask(given: dict[str, Answer]) -> None:
        server.answers = given
        client.remembered.clear()
        client.clear_caches()
        subject_versions(client, "t-value")
        version_like(client, "t-value", WantedSchema("AVRO", _AVRO))

    def made(mutator: Mutator) -> dict[str, Answer]:
        return answers(mutator, {**good, "t-value/versions": [1]})

    assert fuzz("registry", made, ask)


class Lake(Clients):
    """An environment whose catalog is in this process, and is there before the first input is."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._made = fresh_catalog()
        ensure_table(SPEC, TableHandle(self._made, NAME), COLUMNS)

    @property
    def catalog(self) -> InMemoryCatalog:
        return self._made


_AWS = {"access_key": "key", "secret_key": "secret"}


def test_any_answer_of_glue_is_shown_or_refused(server: Answering) -> None:
    lake = Lake(Settings(glue={"endpoint": server.url}, aws=_AWS))
    location = lake.catalog.load_table(NAME.identifier).metadata_location
    folder = location.rpartition("/")[0]
    parameters = {
        "metadata_location": f"{folder}/other.json",
        "table_type": "ICEBERG",
        "frazil.metadata_location": "x",
    }
    entry = {
        "Name": "t",
        "DatabaseName": "n",
        "VersionId": "3",
        "Parameters": parameters,
        "StorageDescriptor": {"Columns": []},
    }
    good = {
        "GetTable": {"Table": entry},
        "GetDatabase": {"Database": {"Name": "n"}},
        "UpdateTable": {},
        "CreateTable": {},
    }

    def ask(case: tuple[str, dict[str, Answer]]) -> None:
        policy, server.answers = case
        glue = Glue(SPEC.model_copy(update={"foreign_commits": policy}), lake.settings)
        glue.read(lake)
        glue.sync(lake)

    def made(mutator: Mutator) -> tuple[str, dict[str, Answer]]:
        return mutator.random.choice(("alarm", "restore")), answers(mutator, good)

    assert fuzz("glue", made, ask)


@pytest.mark.filterwarnings("ignore:Encountered invalid snapshot summary")
def test_any_answer_of_a_rest_catalog_is_read_or_refused(
    server: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "aws_session", cache(catalog.aws_session))  # makes one of botocore's in 6 ms
    lake = Lake(Settings())
    metadata = json.loads(lake.catalog.load_table(NAME.identifier).metadata.model_dump_json())
    config = {"defaults": {}, "overrides": {}}
    table = {"metadata-location": f"{tmp_path}/x.json", "metadata": metadata, "config": {}}
    settings = Settings(rest={"uri": server.url, "token": "token"})

    def ask(given: dict[str, Answer]) -> None:
        server.answers = given
        opened = open_catalog(settings)
        with catalog_errors(settings):
            (pointer,) = load_pointers(opened, [NAME], {})
            if pointer.error:
                raise pointer.error
            TableHandle(opened, NAME).load()

    assert fuzz("rest", lambda m: answers(m, {"v1/config": config, "/tables/": table}), ask)


def test_any_rows_of_snowflake_are_shown_or_refused() -> None:
    arn = "arn:aws:iam::1:role/x"
    lake = Lake(Settings(snowflake={"account": "a", "storage_base_url": "file:/", "aws_role_arn": arn}))
    known = {"metadataLocation": "file:/x.json"}
    volume = [["a", "STORAGE_LOCATION_1", "b", json.dumps({"STORAGE_BASE_URL": "file:/"})]]
    good = {
        "GET_ICEBERG": [[json.dumps(known)]],
        "DESCRIBE EXTERNAL": volume,
        "COUNT": [[3]],
        "DESCRIBE CATALOG": [["x"]],
    }

    def made(mutator: Mutator) -> dict[str, Any]:
        answers = {key: mutator.tree(rows) for key, rows in good.items()}
        if mutator.random.random() < 0.5:
            answers["GET_ICEBERG"] = [[mutator.document(known)]]
        return answers

    def ask(given: dict[str, Any]) -> None:
        @contextmanager
        def opened() -> Iterator[Any]:
            yield Rows(given)

        lake.snowflake = opened
        Snowflake(TableSpec(topic="t", namespace="n"), lake.settings).read(lake)
        Snowflake(TableSpec(topic="t", namespace="n"), lake.settings).sync(lake)

    assert fuzz("snowflake", made, ask)
