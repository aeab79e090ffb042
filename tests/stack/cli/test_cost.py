"""`frazil cost` on real tables: its counts are those of the bucket, as another client lists it."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from frazil.connections import Connections
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.freshness import Budget
from kit.readers.duck import duckdb_on
from kit.records.topics import Topic
from kit.runs.shell import Command, Shell
from kit.storage.client import storage_client
from resources.metadata import table_metadata

LANDINGS, RECORDS = 3, 20


@pytest.fixture
def landed(topic: Topic) -> Topic:
    """The topic, landed in three small landings."""
    for more in (0, 5, 5):
        topic.trades(more)
        land(topic.spec, topic.connections)
    return topic


def objects(settings: Settings, location: str) -> dict[str, int]:
    """All objects of a table and their sizes."""
    where = urlsplit(location)
    pages = (
        storage_client(settings)
        .get_paginator("list_objects_v2")
        .paginate(Bucket=where.netloc, Prefix=where.path.lstrip("/"))
    )
    return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", ())}


def rows_of(settings: Settings, metadata: str) -> int:
    with duckdb_on(settings) as duck:
        row = duck.execute("SELECT count(*) FROM iceberg_scan(?)", [metadata]).fetchone()
    assert row
    return int(row[0])


def costs(frazil: Command, *arguments: str, **environment: str) -> Any:
    return frazil("cost", *arguments, "--json", **environment).document


@pytest.mark.nightly
def test_what_is_counted_is_what_lies_in_the_bucket(
    frazil: Command, connections: Connections, landed: Topic, name: str, stack: Settings
) -> None:
    frazil("compact", name)

    document = costs(frazil, name, "--by", "work")

    table = connections.catalog.load_table(landed.things.table.identifier)
    lying = objects(stack, table.location())
    data = {key: size for key, size in lying.items() if "/data/" in key}
    works = {row["work"]: row for row in document["rows"]}
    assert works["landing"]["records"] == rows_of(stack, table.metadata_location) == RECORDS
    assert (works["landing"]["commits"], works["landing"]["files"]) == (LANDINGS, LANDINGS)
    assert (works["compaction"]["commits"], works["compaction"]["files"]) == (1, 1)
    assert works["landing"]["task_seconds"] > 0 < works["compaction"]["task_seconds"]
    total = document["total"]
    assert (total["files"], total["bytes_written"]) == (len(data), sum(data.values()))
    assert total["live_bytes"] + total["history_bytes"] == sum(data.values())
    kinds = Counter(Path(key).suffix for key in lying if "/metadata/" in key)
    assert kinds[".json"] > LANDINGS, "each commit wrote a metadata file"
    assert kinds[".avro"] >= 2 * (LANDINGS + 1), "a manifest, and a list of them"
    assert len(data) + kinds[".avro"] + total["commits"] == total["writes"] <= len(lying)
    assert works["compaction"]["reads"] >= 2 * LANDINGS, "each file's size, and all of it"
    assert works["landing"]["bytes_in"] == RECORDS * len(
        landed.encode({"side": "BUY", "quantity": 1, "symbol": "ZTEST"})
    )


@pytest.mark.nightly
def test_it_says_what_is_not_measured_and_what_has_no_price(
    frazil: Command, landed: Topic, name: str, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\nprices: {writes: {price: 5, of: ours, date: 2026-01-01}}")

    shown = frazil("cost", name)
    mine = costs(frazil, name, FRAZIL_PRICES=str(prices))

    assert (shown.code, shown.out.split()[:2]) == (0, ["table", "records"])
    assert "no price of topics, traffic" in shown.out
    assert "Not measured: requests that read" in shown.err
    assert (mine["currency"], mine["total"]["without_price"]) == ("EUR", ["storage", "cpu"])
    assert mine["total"]["cost"] == pytest.approx(mine["total"]["writes"] / 1000 * 5)
    assert mine["services"] == []


@pytest.mark.nightly
def test_another_freshness_is_planned_by_the_tables_own_arrivals(
    frazil: Command, landed: Topic, name: str
) -> None:
    plan = frazil("plan-freshness", name, "--since", "1h", "--json").document

    commits = [choice["commits"] for choice in plan["choices"]]
    intervals = [choice["every"] for choice in plan["choices"]]
    assert intervals == [1, 5, 60, 300, 900, 3600][: len(intervals)], "no more than the history is long"
    assert commits == sorted(commits, reverse=True)
    assert commits[-1] > 0
    assert plan["assumed"] == ["CPU of compaction"]


@pytest.mark.nightly
def test_a_table_with_a_budget_lands_as_often_as_its_own_arrivals_speak_for(
    shell: Shell, frazil: Command, connections: Connections, landed: Topic, name: str
) -> None:
    shutil.rmtree(shell.pipelines / "one")
    shell.write(
        {"topic": landed.name, "freshness": "auto", "budget": {"p95": "2s", "at_most": "9000 USD/month"}}
    )
    spec = landed.spec.model_copy(update={"budget": Budget.model_validate({"p95": "2s"})})
    before = frazil("describe", name, "--json").document["land_interval"]

    output = frazil("plan-freshness", name, "--choose", "--json").document
    landed.trades(1)

    after = frazil("describe", name, "--json").document["land_interval"]
    assert (before["every_seconds"], "chosen yet" in before["why"]) == (30.0, True)
    assert (output["done"], after["every_seconds"]) == (True, output["numbers"]["every"])
    assert after["every_seconds"] <= 2
    assert after["why"].endswith("the cheapest interval that keeps p95.")
    in_ten_seconds = time.time() + 10
    looks = [look_for_arrivals([each], connections, lambda: in_ten_seconds) for each in (spec, landed.spec)]
    assert [len(look.due) for look in looks] == [1, 0]
    assert table_metadata(spec, connections)["lands_every_seconds"] == after["every_seconds"]


def test_a_table_without_a_budget_has_nothing_to_choose_by_until_it_is_written(
    shell: Shell, frazil: Command, landed: Topic, name: str
) -> None:
    output = frazil("plan-freshness", name, "--choose")
    shutil.rmtree(shell.pipelines / "one")
    shell.write({"topic": landed.name, "freshness": "auto", "budget": {"p95": "60s"}})

    assert output.is_clear
    assert "has no budget" in output.err
    assert frazil("plan-freshness", name, "--choose").code == 0


def test_a_table_that_was_landed_once_has_no_history_to_replay(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)

    output = frazil("plan-freshness", name)
    topic.trades(5)
    land(topic.spec, topic.connections)
    again = frazil("plan-freshness", name)

    assert output.is_clear
    assert "fewer than two landings" in output.err
    assert (again.code, again.out.split()[:2]) == (0, ["every", "freshness"])


def test_a_mistake_in_the_price_list_is_told_with_its_line(
    frazil: Command, topic: Topic, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  writings: {price: 5}\n")

    output = frazil("cost", FRAZIL_PRICES=str(prices))

    assert output.is_clear
    assert "prices.yaml:2" in output.err
