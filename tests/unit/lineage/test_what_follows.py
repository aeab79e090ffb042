"""Derivations, publications and checks as OpenLineage's events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from frazil.checks.result import CheckResult
from frazil.derive.report import DeriveReport
from frazil.errors import FrazilError, NotYetError, OvertakenError, PartDownError, PausedError, StopError
from frazil.landing.checking.outcome import CheckOutcome
from frazil.publishing.target import Shown
from frazil.reporting import Done, Failure
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import WorkReport
from frazil_lineage.names import stored_name
from frazil_lineage.reporter import LineageReporter
from kit.lineage.collecting import Collecting, collecting
from kit.lineage.tables_here import CatalogAlone, landing_of

TRADES = TableSpec(topic="trades")
SCHEMA = Schema(NestedField(1, "symbol", StringType()), NestedField(2, "price", LongType()))
ICEBERG = ("iceberg", "local", "trades")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with collecting() as server:
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", server.url)
        yield server
        assert server.refused == []


@pytest.fixture
def here(tmp_path: Path) -> CatalogAlone:
    changes: Any = {"lineage": {"send": True, "seconds": 60}, "snowflake": {"account": "acme-prod"}}
    return CatalogAlone(tmp_path, Settings().with_changes(**changes))


@pytest.fixture
def trades(here: CatalogAlone) -> Table:
    return here.make("trades", SCHEMA, 3)


def send(here: CatalogAlone, *news: tuple[AnyTable, Done]) -> None:
    LineageReporter(here.settings, here).tell_all(news)  # type: ignore[arg-type]


def check(name: str, status: Any, severity: Any = "ERROR") -> CheckResult:
    return CheckResult(name, "local.trades", status, severity, f"{name}: 7 rows.", {}, ICEBERG)


def test_a_derivation_names_the_columns_that_each_column_is_made_of(
    here: CatalogAlone, trades: Table, collector: Collecting, tmp_path: Path
) -> None:
    (tmp_path / "dear.sql").write_text("SELECT symbol, price * 2 AS double FROM trades WHERE price > 9")
    spec = DerivedSpec(table="dear", namespace="local", kind="rows", sql=tmp_path / "dear.sql")
    columns = (NestedField(1, "symbol", StringType()), NestedField(2, "double", LongType()))
    dear = here.make("dear", Schema(*columns), 2)
    read, made = (table.refresh().current_snapshot() for table in (trades, dear))
    assert read
    assert made
    report = DeriveReport(
        "local.dear", "rows", made.snapshot_id, done=True, rows=2, files=1,
        inputs={"local.trades": read.snapshot_id}, seconds=1.0,
    )  # fmt: skip

    send(here, (spec, report))

    (derived,) = collector.ended("derive.local.dear")
    (source,), (table,) = derived["inputs"], derived["outputs"]
    assert source["facets"]["version"]["datasetVersion"] == str(read.snapshot_id)
    assert table["facets"]["version"]["datasetVersion"] == str(made.snapshot_id)
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 2
    at = stored_name(trades.location())
    origins = {
        name: [(i["namespace"], i["name"], i["field"]) for i in field["inputFields"]]
        for name, field in table["facets"]["columnLineage"]["fields"].items()
    }
    assert origins == {
        "symbol": [(at.namespace, at.name, "symbol")], "double": [(at.namespace, at.name, "price")],
    }  # fmt: skip
    assert derived["job"]["facets"]["sql"]["query"].startswith("SELECT symbol")


def test_a_publication_reads_the_iceberg_table_and_writes_the_targets(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    at = "s3://lake/v3.metadata.json"
    shown = [
        Shown(("glue", "local", "trades"), ICEBERG, "local.trades", at, changed=True, account="123456789012"),
        Shown(("snowflake", "frazil", "local", "trades"), ICEBERG, "", at, changed=True, rows=3),
        Shown(("glue", "local", "others"), ICEBERG, "local.others", at),
    ]

    send(here, (TRADES, shown))

    glue, snowflake = collector.ended("publish")
    assert [e["job"]["name"] for e in (glue, snowflake)] == [
        "publish.glue.local.trades", "publish.snowflake.local.trades",
    ]  # fmt: skip
    (entry,), (table,) = glue["outputs"], snowflake["outputs"]
    assert (entry["namespace"], entry["name"]) == (
        "arn:aws:glue:us-east-1:123456789012", "table/local/trades",
    )  # fmt: skip
    assert (table["namespace"], table["name"]) == ("snowflake://acme-prod", "FRAZIL.LOCAL.TRADES")
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert entry["facets"]["version"]["datasetVersion"] == at
    source = stored_name(trades.location())
    assert [(i["namespace"], i["name"]) for i in glue["inputs"]] == [(source.namespace, source.name)]


def test_the_checks_of_a_table_are_one_piece_of_work_without_those_that_could_not_compare(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    results = (check("a", "passed"), check("b", "failed", "WARN"), check("c", "skipped"))

    send(here, *((TRADES, result) for result in results))

    (checked,) = collector.ended()
    assertions = checked["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(a["assertion"], a["success"], a["severity"]) for a in assertions] == [
        ("a", True, "error"), ("b", False, "warn"),
    ]  # fmt: skip
    assert assertions[1]["description"] == "b: 7 rows."


def test_checks_of_the_spec_follow_their_landing_and_upkeep_is_not_sent(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    paid = CheckOutcome("paid", "price > 0", "skip", failing=1, rows=3)
    landing = landing_of(trades, 3)
    report = replace(landing, checks=(paid,))

    send(here, (TRADES, report), (TRADES, WorkReport("local.trades", "expiry", done=True, text="")))

    assert [e["job"]["name"] for e in collector.ended()] == ["land.local.trades", "check.local.trades"]


def test_a_catalog_that_does_not_know_the_table_is_no_failure_of_the_work(
    here: CatalogAlone, collector: Collecting, caplog: pytest.LogCaptureFixture
) -> None:
    send(here, (TRADES, check("a", "passed")))

    assert collector.asked == 0
    assert "local.trades" in caplog.text


def failed(event: dict[str, Any]) -> tuple[str, str, str]:
    """The job of an event, how it ended, and why."""
    error = event["run"]["facets"]["errorMessage"]
    assert error["programmingLanguage"] == "python"
    return event["job"]["name"], event["eventType"], error["message"]


def test_work_that_failed_ends_with_the_error_and_what_it_was_about(
    here: CatalogAlone, trades: Table, collector: Collecting, tmp_path: Path
) -> None:
    sells = DerivedSpec(table="sells", sql=tmp_path / "sells.sql")
    silent = PartDownError("Glue does not answer.", where="127.0.0.1:1")

    send(
        here,
        (TRADES, Failure("land", PartDownError("Kafka does not answer.", todo="Start it."))),
        (sells, Failure("derive", StopError("The inputs lost rows."))),
        (TRADES, Failure("publish", silent, ("glue", "local", "trades"))),
    )

    land, derive, publish = collector.ended()
    assert [event["eventType"] for event in collector.events] == ["START", "FAIL"] * 3
    assert failed(land) == ("land.local.trades", "FAIL", "PartDownError: Kafka does not answer.")
    assert failed(derive) == ("derive.local.sells", "FAIL", "StopError: The inputs lost rows.")
    assert failed(publish) == (
        "publish.glue.local.trades", "FAIL", "PartDownError: Glue does not answer. 127.0.0.1:1",
    )  # fmt: skip
    table = stored_name(trades.location())
    assert [each["name"] for each in land["inputs"]] == ["trades"]
    assert [each["name"] for each in (*land["outputs"], *publish["inputs"])] == [table.name] * 2
    assert (derive["inputs"], derive["outputs"], publish["outputs"]) == ([], [], [])


def test_an_error_of_lineage_has_no_secret_of_the_settings(tmp_path: Path, collector: Collecting) -> None:
    secret = "correct-horse"
    changes: Any = {
        "lineage": {"send": True, "seconds": 60},
        "aws": {"access_key": "k", "secret_key": secret},
    }
    here = CatalogAlone(tmp_path, Settings().with_changes(**changes))

    send(here, (TRADES, Failure("land", StopError(f"S3 says {secret} is wrong.", where=secret))))

    (ended,) = collector.ended()
    assert failed(ended)[2] == "StopError: S3 says *** is wrong. ***"


@pytest.mark.parametrize("error", [NotYetError, PausedError, OvertakenError])
def test_work_that_waits_or_was_overtaken_has_not_failed(error: type[FrazilError]) -> None:
    assert Failure.of("land", error("Later.", todo="Nothing.")) is None
    failed_work = Failure.of("publish", ValueError("Nobody foresaw this."), ("glue", "d", "t"))
    assert failed_work is not None
    assert failed_work.target == ("glue", "d", "t")
