"""What errors of Glue and Snowflake advise is done: the table is shown, and nobody's row is lost."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.table import StaticTable

from frazil.clients import Clients
from frazil.errors import (
    CommitConflictError,
    ConfigureError,
    MissingError,
    NotYetError,
    RepairError,
    SpecError,
)
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.login import connection_arguments
from frazil.publishing.snowflake.statements import check_location, integration_of, volume_of
from frazil.publishing.views.queries import current_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from kit.readers.mirrored import NAME, Mirror, Standing
from kit.wires.answering import serving


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Three rows, which Glue shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    return standing.shown(spec, 3)


def inserted_by_athena(mirror: Mirror, quantity: int = 99) -> str:
    """Commits through the Glue entry, as Athena does; the metadata that it names then."""
    table = GlueCatalog("athena", client=mirror.connections.glue).load_table((mirror.folder.name, NAME.table))
    table.append(pa.table({"quantity": [quantity]}, schema=table.schema().as_arrow()))
    return mirror.shown


def with_words(mirror: Mirror, word: str) -> None:
    """Writes `foreign_commits` into the spec."""
    mirror.spec = mirror.spec.model_copy(update={"foreign_commits": word})


@pytest.mark.parametrize("spec", ["alarm", "adopt"])
def test_rows_of_another_engine_are_taken_over_by_hand_and_glue_shows_all(mirror: Mirror, spec: str) -> None:
    """The INSERT alone, which was advised, left Glue where it was: the next sync was refused again."""
    with_words(mirror, spec)
    foreign = inserted_by_athena(mirror)
    with pytest.raises(RepairError) as raised:
        mirror.sync()
    assert raised.value.todo.startswith(
        "To take over what the other engine wrote: read it from that metadata file"
    )

    theirs = StaticTable.from_metadata(foreign).scan("quantity = 99").to_arrow()
    mirror.table.append(theirs)
    with pytest.raises(RepairError):
        mirror.sync()
    with_words(mirror, "restore")
    mirror.sync()

    assert mirror.athena(mirror.shown) == [0, 1, 2, 99]


def test_what_is_dropped_on_purpose_goes_and_what_comes_after_the_word_was_taken_out_is_told(
    mirror: Mirror,
) -> None:
    """Left in the spec, the word drops each later commit without a question."""
    inserted_by_athena(mirror)
    with pytest.raises(RepairError) as raised:
        mirror.sync()
    assert "it drops what comes later, too, until you take it out" in raised.value.todo

    with_words(mirror, "restore")
    mirror.sync()
    assert mirror.athena(mirror.shown) == [0, 1, 2]
    with_words(mirror, "alarm")
    later = inserted_by_athena(mirror, 100)

    with pytest.raises(RepairError, match="Another engine committed"):
        mirror.sync()
    assert mirror.athena(later) == [0, 1, 2, 100]


def test_an_entry_is_left_to_the_other_engine_beside_one_in_another_database(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)
    with pytest.raises(RepairError) as raised:
        mirror.sync()
    assert "publish to another `FRAZIL_GLUE__DATABASE`" in raised.value.todo

    settings = mirror.connections.settings.with_changes(glue={"database": f"{mirror.folder.name}_more"})
    here = Clients(settings)
    here.__dict__["catalog"] = mirror.connections.catalog
    shown = Glue(mirror.spec, settings).sync(here).metadata_location

    assert mirror.athena(shown) == [0, 1, 2]
    assert mirror.shown == foreign


def test_an_entry_that_others_change_again_and_again_is_moved_by_the_next_sync(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    glue = mirror.connections.glue
    update = glue.update_table

    def overtaken(**options: Any) -> Any:
        entry = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
        kept = {key: entry[key] for key in ("Name", "TableType", "StorageDescriptor", "Parameters")}
        update(DatabaseName=mirror.folder.name, TableInput=kept)
        return update(**options)

    mirror.land(1)
    monkeypatch.setattr(glue, "update_table", overtaken)
    with pytest.raises(CommitConflictError) as raised:
        mirror.sync()
    assert raised.value.todo == f"`frazil sync {NAME}` tries again."

    monkeypatch.undo()

    assert mirror.athena(mirror.sync()) == [0, 1, 2, 3]


def test_an_entry_that_tableflow_has_yet_to_make_is_read_once_it_is_there(mirror: Mirror) -> None:
    entry = mirror.connections.glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    spec = TableSpec(topic="trades", namespace=mirror.folder.name, mode="tableflow")
    glue = Glue(spec, mirror.connections.settings)
    with pytest.raises(NotYetError) as raised:
        glue.sync(mirror.connections)
    assert "makes it, minutes after the table" in raised.value.todo

    made = {key: entry[key] for key in ("TableType", "StorageDescriptor", "Parameters")}
    database, name = glue.relations[0].split(".")
    mirror.connections.glue.create_table(DatabaseName=database, TableInput={**made, "Name": name})

    assert glue.sync(mirror.connections).metadata_location == entry["Parameters"]["metadata_location"]


def test_what_glue_refuses_or_what_is_no_glue_is_mended_by_the_settings(mirror: Mirror) -> None:
    with serving() as server:
        aws = {"access_key": "key", "secret_key": "secret"}
        wrong = Clients(Settings(glue={"endpoint": server.url}, aws=aws))
        server.answers = {"GetTable": (200, {}, b"7")}
        with pytest.raises(RepairError, match="does not answer as Glue does") as other:
            Glue(mirror.spec, wrong.settings).read(wrong)
        refusal = json.dumps({"__type": "ValidationException", "Message": "DatabaseName: too long"})
        server.answers = {"GetTable": (400, {}, refusal.encode())}
        with pytest.raises(ConfigureError, match="Glue refuses the request") as refused:
            Glue(mirror.spec, wrong.settings).read(wrong)
    assert "FRAZIL_GLUE__ENDPOINT" in other.value.todo
    assert "FRAZIL_GLUE__..." in refused.value.todo

    shown = Glue(mirror.spec, mirror.connections.settings).read(mirror.connections)

    assert shown
    assert shown.metadata_location == mirror.shown


def test_a_view_of_the_newest_records_is_made_by_columns_that_there_are() -> None:
    spec = TableSpec(topic="t", current_by=["ordr"])
    columns = ["order", "$$partition", "$$offset", "$$timestamp"]
    with pytest.raises(SpecError) as raised:
        current_sql(spec, "t", columns, double_quoted)
    name = raised.value.todo.removeprefix("Name columns of the table: ").split(",")[0]

    assert double_quoted(name) in current_sql(
        spec.model_copy(update={"current_by": (name,)}), "t", columns, double_quoted
    )


def pem(key: rsa.RSAPrivateKey, phrase: str | None = None) -> bytes:
    way = BestAvailableEncryption(phrase.encode()) if phrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, way)


def test_each_setting_of_a_login_that_is_asked_for_leads_to_the_next_and_to_the_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file = rsa.generate_private_key(65537, 2048), tmp_path / "key.p8"
    file.write_bytes(pem(key, "a phrase"))
    steps = [
        ("Set FRAZIL_SNOWFLAKE__ACCOUNT", "FRAZIL_SNOWFLAKE__ACCOUNT", "org-account"),
        ("name the PEM file of your user", "FRAZIL_SNOWFLAKE__PRIVATE_KEY_PATH", str(file)),
        ("PRIVATE_KEY_PASSPHRASE", "FRAZIL_SNOWFLAKE__PRIVATE_KEY_PASSPHRASE", "a phrase"),
    ]
    for expected, name, value in steps:
        with pytest.raises((MissingError, ConfigureError)) as raised:
            connection_arguments(Settings.load())
        assert expected in raised.value.todo
        monkeypatch.setenv(name, value)

    arguments = connection_arguments(Settings.load())

    assert arguments["account"] == "org-account"
    assert arguments["private_key"].private_numbers() == key.private_numbers()


def test_a_key_in_the_settings_that_can_not_be_read_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    key = rsa.generate_private_key(65537, 2048)
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__ACCOUNT", "org-account")
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__PRIVATE_KEY", "no key")
    with pytest.raises(ConfigureError) as raised:
        connection_arguments(Settings.load())
    assert "no key" not in str(raised.value)

    monkeypatch.setenv("FRAZIL_SNOWFLAKE__PRIVATE_KEY", base64.b64encode(pem(key)).decode())

    assert connection_arguments(Settings.load())["private_key"].private_numbers() == key.private_numbers()


def test_a_role_of_the_form_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigureError) as raised:
        statements.create_volume(volume_of(Settings.load()))
    assert "arn:aws:iam::<account>:role/<name>" in raised.value.todo

    arn = "arn:aws:iam::123456789012:role/reader"
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__AWS_ROLE_ARN", arn)

    assert arn in statements.create_volume(volume_of(Settings.load()))
    assert arn in statements.create_integration(integration_of(Settings.load(), "local"))


def test_a_volume_of_a_new_name_covers_the_table_and_the_older_one_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = "s3://lake2/local/trades/metadata/v1.metadata.json"
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__STORAGE_BASE_URL", "s3://lake/")
    before = volume_of(Settings.load())
    with pytest.raises(ConfigureError) as raised:
        check_location(before, table)
    assert "FRAZIL_SNOWFLAKE__STORAGE_BASE_URL, and FRAZIL_SNOWFLAKE__EXTERNAL_VOLUME" in raised.value.todo

    monkeypatch.setenv("FRAZIL_SNOWFLAKE__STORAGE_BASE_URL", "s3://lake2/")
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__EXTERNAL_VOLUME", "lake2")
    volume = volume_of(Settings.load())

    check_location(volume, table)
    assert volume.name != before.name


def test_a_table_of_tableflow_is_left_to_it() -> None:
    from frazil.spec.names import writable

    spec = TableSpec(topic="trades", mode="tableflow")
    with pytest.raises(ConfigureError, match="keeps it in order") as raised:
        writable(spec, Settings())
    assert raised.value.todo.startswith("Leave it to Tableflow.")

    assert writable(spec.model_copy(update={"mode": "append"}), Settings()) == TableName("local", "trades")
