"""What commands advise where they are told something wrong is typed, and taken."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from frazil import graph
from frazil.cli.selection import select, select_derived, select_pipelines, select_topics
from frazil.cli.views.graph import _format, _write
from frazil.cli.views.metrics import _serve
from frazil.errors import ConfigureError, MissingError, PartDownError, UsageError
from frazil.graph import Asset, AssetGraph, load_graph
from frazil_local.cli.generate import Kind, _change_database, _chosen
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from kit.runs.shell import TABLES, Command


@pytest.fixture
def folder(pipelines: Path, frazil: Command) -> Path:
    """A pipeline of one topic, and one of a table made of it."""
    (pipelines / "made").mkdir()
    (pipelines / "made" / "large.sql").write_text("SELECT 1 AS one FROM local.orders")
    (pipelines / "made" / "defs.yaml").write_text(
        f"type: {TABLES}\nattributes: {{tables: [{{table: large, sql: large.sql}}]}}\n"
    )
    return pipelines


def todo_of(error: type[Exception], what: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(error) as raised:
        what(*arguments, **named)
    return str(raised.value.todo)  # type: ignore[attr-defined]


def test_a_table_is_found_by_the_name_that_was_meant_or_among_all_of_them(folder: Path) -> None:
    near = todo_of(UsageError, select, ["local.ordrs"], every=False)
    assert near.startswith("Did you mean local.orders")
    assert (
        todo_of(UsageError, select, ["nowhere.qqqqqqqq"], every=False) == "`frazil tables` lists all of them."
    )

    assert len(select(["local.orders"], every=False).specs) == 1
    assert len(select((), every=True).specs) == 2


def test_a_mistake_in_a_query_is_told_where_a_table_of_its_pipeline_is_asked_for(folder: Path) -> None:
    query = folder / "made" / "large.sql"
    query.write_text("SELEC 1 AS one FROM local.orders")

    with pytest.raises(UsageError) as raised:
        select(["local.large"], every=False)
    query.write_text("SELECT 1 AS one FROM local.orders")

    assert "large.sql:1" in raised.value.where
    assert "Did you mean" not in raised.value.todo
    assert "Fix what is named there" in raised.value.todo
    assert len(select(["local.large"], every=False).specs) == 1


def test_a_pipeline_is_found_among_those_that_are_named(folder: Path) -> None:
    known = todo_of(UsageError, select_pipelines, ["shp"]).removeprefix("Known are ").rstrip(".").split(", ")

    assert known == ["made", "shop"]
    assert len(select_pipelines(known).specs) == 2


def test_a_table_is_brought_up_to_date_by_the_command_that_is_named(folder: Path) -> None:
    derive = todo_of(UsageError, select_topics, ["local.large"], every=False)
    land = todo_of(UsageError, select_derived, ["local.orders"], every=False)

    assert derive == "`frazil derive local.large` brings it up to date."
    assert len(select_derived(["local.large"], every=False).specs) == 1
    assert land == "`frazil land local.orders` brings it up to date."
    assert len(select_topics(["local.orders"], every=False).specs) == 1


def test_run_without_tables_leads_to_those_that_there_are(frazil: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    empty = {"FRAZIL_PIPELINES": str(tmp_path / "empty")}
    result = frazil("run", **empty)
    assert result.code == 2
    assert "`frazil tables` lists all of them." in result.err

    assert "There is no table: write" in frazil("tables", **empty).err


def test_help_tells_what_a_command_takes(frazil: Command) -> None:
    result = frazil("land", "orders", "--pst")
    assert result.code == 2
    assert " land --help` tells what it takes." in result.err

    helped = frazil("land", "--help")

    assert helped.code == 0
    assert "--past" in helped.out or "--accept-loss" in helped.out


def test_made_up_records_go_to_another_topic_one_kind_at_a_time(frazil: Command) -> None:
    assert todo_of(UsageError, _chosen, [Kind.USERS, Kind.SKYONE], "mine").startswith("Name --topic for one")
    assert [each.topic for each in _chosen([Kind.USERS], "mine")] == ["mine"]

    several = todo_of(UsageError, _change_database, [Kind.NORTHWIND, Kind.USERS], None, 1, None, 0, False)
    assert several == "Name it alone, and no --topic."
    alone = todo_of(PartDownError, _change_database, [Kind.NORTHWIND], None, 1, None, 0, False)
    assert alone == "`frazil up --with northwind` starts one."  # which is the next thing to do


def test_a_picture_is_written_where_and_as_the_error_says(tmp_path: Path) -> None:
    assert todo_of(UsageError, _format, Path("a.gif")) == "Let the name end in .svg or .png."
    assert _format(Path("a.svg")) == "svg"

    assert todo_of(ConfigureError, _write, tmp_path / "nowhere" / "a.svg", b"x") == "Name another --out."
    _write(tmp_path / "a.svg", b"x")
    assert (tmp_path / "a.svg").read_bytes() == b"x"


def test_a_group_is_found_among_those_that_are_named() -> None:
    shop = AssetGraph((Asset(("kafka", "orders"), "kafka", "shop"),))
    known = todo_of(UsageError, shop.of, {"shp"}).removeprefix("Known are ").rstrip(".")

    assert shop.of({known}) == shop


def test_a_graph_that_nobody_knows_is_known_where_frazil_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(graph, "entry_points", lambda group: ())
        assert todo_of(MissingError, load_graph) == "Install Frazil again."

    assert load_graph()


def test_a_repository_is_made_in_another_folder(frazil: Command, tmp_path: Path) -> None:
    assert frazil("init", str(tmp_path / "mine")).code == 0
    there = frazil("init", str(tmp_path / "mine"))
    (tmp_path / "file").touch()
    unfit = frazil("init", str(tmp_path / "file" / "below"))
    assert "Name another folder, or an empty one." in there.err
    assert "Name another folder." in unfit.err

    assert frazil("init", str(tmp_path / "another")).code == 0


def test_metrics_are_served_at_another_port(capsys: pytest.CaptureFixture[str]) -> None:
    from threading import Thread

    with socket.create_server(("127.0.0.1", 0)) as holder:
        advice_given = todo_of(
            ConfigureError, _serve, CollectorRegistry(), "127.0.0.1", holder.getsockname()[1]
        )
    assert advice_given == "Name another one by --port."

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    Thread(target=_serve, args=(CollectorRegistry(), "127.0.0.1", port), daemon=True).start()

    def answers() -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
                return bool(page.status == 200)
        except OSError:
            return False

    from kit.runs.waiting import wait_for

    wait_for(answers)


def test_log_and_settings_of_a_stack_are_there_once_it_was_started(frazil: Command, tmp_path: Path) -> None:
    logs, env = frazil("logs", "kafka"), frazil("env")
    assert "Run `frazil up` first." in logs.err
    assert "Run `frazil up` first." in env.err

    home = Home(tmp_path / "home")
    prepared_stack(home, {})  # as `frazil up` begins
    (home.logs / "kafka.log").write_text("a line\n")

    assert frazil("logs", "kafka").out == "a line\n"
    assert frazil("env").code == 0
