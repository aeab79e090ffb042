"""`frazil derive`, and what other commands tell of tables that are made of others."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from kit.derived.made import NAMESPACE, Source
from kit.runs.shell import Command, Output, Shell


@pytest.fixture
def frazil(
    source: Source, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command, with a table of the source, one of that table, and one of a table that nobody made."""
    at, name = {"namespace": NAMESPACE, "publish": []}, source.name.table
    twice = f"SELECT symbol, quantity * 2 AS twice FROM {name}"
    count = f"SELECT symbol, count(*) AS trades FROM {name}_twice GROUP BY symbol"
    shell.write(
        {**at, "topic": name},
        {**at, "topic": f"{name}_gone"},
        derived=[
            {**at, "table": f"{name}_lost", "sql": f"SELECT symbol FROM {name}_gone", "kind": "full"},
            {**at, "table": f"{name}_count", "kind": "totals", "sql": count},
            {**at, "table": f"{name}_twice", "sql": twice},
        ],
    )
    return Command(monkeypatch, capsys)


def totals(result: Output) -> list[tuple[str, int, int, bool]]:
    return [
        (r["table"].rpartition("_")[2], r["rows"], r["total_rows"], r["whole"])
        for r in result.document
        if "error" not in r
    ]


def test_tables_are_derived_behind_those_that_they_read_and_one_that_fails_keeps_none_from_it(
    frazil: Command, source: Source
) -> None:
    source.trades(1, 2)

    result = frazil("derive", "--all", "--json")

    assert (result.code, totals(result)) == (1, [("twice", 2, 2, True), ("count", 1, 1, True)])
    assert f"There is no table {source.name}_gone" in result.err


def test_what_is_derived_is_shown_at_once_as_what_is_landed_is(
    source: Source, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = source.name.table
    query = {"table": f"{name}_big", "sql": f"SELECT symbol, quantity FROM {name}"}
    shell.write(
        {"namespace": NAMESPACE, "topic": name, "publish": []},
        derived=[{**query, "namespace": NAMESPACE, "publish": ["glue", "snowflake"]}],
    )
    frazil, table = Command(monkeypatch, capsys), f"{NAMESPACE}.{name}_big"
    source.trades(1, 2)
    unshown, failed = frazil("derive", table, "--no-sync", "--json"), frazil("check", table)
    source.trades(3)
    shown, passed = frazil("derive", table, "--json"), frazil("check", table, "--json")

    assert (unshown.code, failed.code, shown.code, passed.code) == (0, 1, 0, 0), passed.err
    status = {check["check"]: check["status"] for check in passed.document}
    assert (status["glue_pointer"], status["snowflake_current"]) == ("passed", "passed")


def test_only_what_is_new_is_read_unless_a_rebuild_is_asked_for(frazil: Command, source: Source) -> None:
    name = f"{source.name}_twice"
    source.trades(1, 2)
    frazil("derive", name, "--json")
    source.trades(3)

    second = frazil("derive", name, "--json")
    rebuilt = frazil("derive", name, "--rebuild", "--json")

    assert totals(second) == [("twice", 1, 3, False)]
    assert totals(rebuilt) == [("twice", 3, 3, True)]


def test_dagster_hears_of_a_derivation(frazil: Command, source: Source, tmp_path: Path) -> None:
    source.trades(1, 2, 3)
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").touch()

    result = frazil("derive", f"{source.name}_twice", "--json", DAGSTER_HOME=str(home))
    assert result.code == 0, result.err

    with dg.DagsterInstance.from_config(str(home)) as instance:
        key = dg.AssetKey(["iceberg", NAMESPACE, f"{source.name.table}_twice"])
        event = instance.get_latest_materialization_event(key)
    assert event
    assert event.asset_materialization
    metadata = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert (metadata["rows_added"], metadata["dagster/row_count"], metadata["lag"]) == (3, 3, 0)


def test_tables_and_describe_tell_what_waits_in_the_inputs(frazil: Command, source: Source) -> None:
    source.trades(1, 2)
    frazil("derive", f"{source.name}_twice", "--json")
    source.trades(3)

    states = {s["identifier"]: s for s in frazil("tables", "--json").document}
    described = frazil("describe", f"{source.name}_twice", "--json").document

    twice, count = states[f"{source.name}_twice"], states[f"{source.name}_count"]
    assert (twice["state"], twice["rows"], twice["lag"]) == ("behind", 2, 1)
    assert (count["state"], count["rows"], count["lag"]) == ("new", 0, 2)
    assert described["made_by"]["kind"] == "rows"
    assert described["made_by"]["file"].endswith("_twice.sql")
    assert [(i["table"], i["state"], i["waiting"]) for i in described["inputs"]] == [
        (str(source.name), "behind", 1)
    ]
    assert [d["rows"] for d in described["derivations"]] == [2]


def test_upkeep_and_checks_take_derived_tables(frazil: Command, source: Source) -> None:
    name = f"{source.name}_twice"
    for quantity in (1, 2):
        source.trades(quantity)
        frazil("derive", name, "--json")

    (compacted,) = frazil("compact", name, "--everything", "--json").document
    expired = frazil("expire", name, "--json")
    (census,) = frazil("census", name, "--json").document
    checked = frazil("check", name, "--deep", "--json")
    source.trades(3)
    derived = frazil("derive", name, "--json")

    assert (compacted["done"], expired.code, census["files"]) == (True, 0, 1)
    assert totals(derived) == [("twice", 1, 3, False)]
    assert [c["text"] for c in checked.document if not c["passed"]] == []
    assert {c["check"] for c in checked.document} == {
        "row_count", "schema", "inputs_read", "query_agrees", "file_health",
    }  # fmt: skip


@pytest.mark.nightly
def test_what_changed_in_a_derived_table_is_told_once_its_rows_have_ids(
    frazil: Command, source: Source
) -> None:
    name = f"{source.name}_twice"
    source.trades(1)
    (first,) = frazil("derive", name, "--json").document
    source.trades(2)
    frazil("derive", name, "--json")

    refused = frazil("changes", name, "--from", first["snapshot_id"])
    upgraded = frazil("upgrade-table", name, "--to", "3", "--yes", "--json").document
    source.trades(3)
    frazil("derive", name, "--json")
    (line,) = frazil("changes", name, "--from", upgraded["snapshot_id"], "--json").document

    assert refused.code == 2
    assert f"frazil upgrade-table {name} --to 3" in refused.err
    assert (line["change"], line["row_id"], line["after"]["twice"]) == ("insert", 2, 6)
    described = frazil("describe", name, "--json").document
    strangers = ["athena", "redshift", "impala", "bigquery", "fabric"]
    assert described["format"] == {"version": 3, "not_read_by": strangers}


@pytest.mark.nightly
def test_a_rollback_takes_rows_and_position_back(frazil: Command, source: Source) -> None:
    name = f"{source.name}_twice"
    source.trades(1, 2)
    (first,) = frazil("derive", name, "--json").document
    source.trades(3)
    frazil("derive", name, "--json")

    document = frazil("rollback", name, "--to", str(first["snapshot_id"]), "--json").document
    again = frazil("derive", name, "--json")

    assert (document["done"], document["rows"], document["rows_before"]) == (True, 2, 3)
    assert document["inputs"] == first["inputs"]
    assert totals(again) == [("twice", 1, 3, False)]


def test_commands_for_topics_say_what_to_do_instead(frazil: Command, source: Source) -> None:
    result = frazil("land", f"{source.name}_twice")

    assert (result.code, result.is_clear) == (2, True)
    assert f"`frazil derive {source.name}_twice` brings it up to date" in result.err
