"""What errors of upkeep advise is done, and the work goes through; no row goes that is not named."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.derive.positions.inputs import at_head, note_reader
from frazil.derive.positions.ledger import DerivedLedger
from frazil.errors import DifferentError, RetryError, UsageError
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.ledger import FORMAT
from frazil.tables.commits.stage import StagedFiles, check_still_there
from frazil.tables.creation import create_table
from frazil.upkeep.compaction import run
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry import survivors
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.made import MadeOf, refuse_behind
from frazil.upkeep.forgetting.report import ForgetReport, read_report
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.row_expiry.run import expire_rows
from kit.readers.mirrored import DAY, NAME, Mirror

READER = TableName(NAME.namespace, "totals")
COLUMNS = Schema(NestedField(1, "user_id", LongType()))


def test_a_condition_is_written_as_the_error_says(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not say which rows") as raised:
        condition_of(COLUMNS, "user_id > 3")
    assert "column = value, column in (...)" in raised.value.todo
    assert "--keys FILE" in raised.value.todo

    keys = tmp_path / "keys.csv"
    keys.write_text("user_id\n3\n")
    conditions = [condition_of(COLUMNS, "user_id = 3"), condition_of(COLUMNS, "user_id in (3)"),
            condition_of(COLUMNS, keys=keys)]  # fmt: skip

    assert {each.digest for each in conditions} == {conditions[0].digest}


def test_a_report_proves_something_as_it_was_written(tmp_path: Path) -> None:
    condition = condition_of(COLUMNS, "user_id = 3")
    written = ForgetReport("local.orders", condition.columns, condition.digest, 0.0, 0.0).document
    file, other = tmp_path / "report.json", tmp_path / "other.json"
    other.write_text("[]")
    with pytest.raises(UsageError, match="no report") as none:
        read_report(other)
    file.write_text(json.dumps({**written, "by": "somebody else"}))
    with pytest.raises(UsageError, match="was changed") as changed:
        read_report(file)
    assert none.value.todo.startswith("Name the file")
    assert changed.value.todo.startswith("Take the file as")

    file.write_text(json.dumps(written))

    assert read_report(file)["condition_sha256"] == condition.digest


@pytest.fixture
def source(tmp_path: Path) -> Mirror:
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=[])
    mirror = Mirror(tmp_path, "http://127.0.0.1:1", spec)
    set_properties(TableHandle(mirror.connections.catalog, NAME), {FORMAT: "2.0"})
    mirror.land(3)
    return mirror


def test_rows_are_forgotten_once_what_is_made_of_them_has_read_them(source: Mirror, tmp_path: Path) -> None:
    (tmp_path / "totals.sql").write_text(f"SELECT quantity FROM {NAME}")
    spec = DerivedSpec(table="totals", namespace=NAME.namespace, sql=tmp_path / "totals.sql", publish=[])
    catalog = source.connections.catalog
    made = MadeOf(spec, TableHandle(catalog, READER), NAME)
    table = create_table(TableHandle(catalog, READER), (), (), {})

    def derive() -> None:
        read = at_head(source.table)
        ledger = DerivedLedger(inputs={str(NAME): read}, query="q", derivation="deriving_1")
        catalog.load_table(READER.identifier).append(
            table.scan().to_arrow(), snapshot_properties=ledger.properties()
        )
        note_reader([source.table], READER)

    derive()
    source.land(2)
    with pytest.raises(RetryError, match="has yet to read 2 rows") as raised:
        refuse_behind(made, source.connections, source.table)
    assert raised.value.todo == f"`frazil derive {READER}`, then forget again."

    derive()

    refuse_behind(made, source.connections, source.table)


@pytest.mark.parametrize("way", ["rows are kept forever", "the names are fixed"])
def test_rows_without_the_column_of_their_age_stay_until_the_spec_is_mended(tmp_path: Path, way: str) -> None:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("unit")
    columns = pa.schema([("n", pa.int64()), ("cflt_metadata_timestamp", pa.timestamp("us", tz="UTC"))])
    table = catalog.create_table(("unit", "things"), columns)
    table.append(pa.table({"n": [1], "cflt_metadata_timestamp": [0]}, schema=columns))
    connections = Clients(Settings())
    connections.__dict__["catalog"] = catalog
    kept = {"topic": "things", "namespace": "unit", "publish": (), "keep_rows_for": timedelta(days=36500)}
    with pytest.raises(DifferentError, match="has no column") as raised:
        expire_rows(TableSpec.model_validate(kept), connections, time.time())
    assert raised.value.todo == "Drop keep_rows_for from the spec, or fix metadata_names."

    mended = {"keep_rows_for": None} if way == "rows are kept forever" else {"metadata_names": "portable"}
    report = expire_rows(TableSpec.model_validate({**kept, **mended}), connections, time.time())

    assert not report.done
    assert catalog.load_table(("unit", "things")).scan().to_arrow()["n"].to_pylist() == [1]


@pytest.mark.parametrize("module", [run, survivors])
def test_a_compaction_that_took_too_long_is_tried_again_with_less(module: ModuleType) -> None:
    late = StagedFiles(until=time.time() - 1)
    with pytest.raises(RetryError, match="took so long") as raised:
        check_still_there(NAME, late, "compaction", module._SHORTER)
    assert "lower upkeep.max_bytes" in raised.value.todo
    smaller = TableSpec.model_validate({"topic": "t", "upkeep": {"max_bytes": "1GB"}})
    assert smaller.upkeep.max_bytes < TableSpec(topic="t").upkeep.max_bytes

    check_still_there(NAME, StagedFiles(until=time.time() + 3600), "compaction", module._SHORTER)


def test_the_branch_of_a_dead_work_goes_as_the_check_says(tmp_path: Path) -> None:
    """It named `frazil orphans`, which takes files and leaves the branch: the check failed on."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=[])
    source = Mirror(tmp_path, "http://127.0.0.1:1", spec)
    source.land(1)  # one file: nothing is to be compacted
    dead = f"landing_{int((time.time() - 86400) * 1000)}_01234567"
    source.table.manage_snapshots().create_branch(
        source.table.metadata.current_snapshot_id or 0, dead
    ).commit()
    result = run_check("file_health", source.spec, source.connections)
    assert result.failed
    assert "1 dead branches" in result.text
    assert f"`frazil compact {NAME}`" in result.text

    remove_orphans(source.spec, source.connections, time.time() + 30 * DAY)
    assert run_check("file_health", source.spec, source.connections).failed
    compact(source.spec, source.connections, time.time())

    assert run_check("file_health", source.spec, source.connections).passed
    assert source.athena(source.table.metadata_location) == [0]
