"""A stack has Northwind's database if it is asked for it, remembers it, and fills it with the same rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from frazil.derive.tables import known_tables
from frazil.errors import ConfigureError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.northwind.parts import with_pipeline
from frazil_local.northwind.postgres import _program
from frazil_local.northwind.rows import COUNTS, customer, first_rows
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.stack import Stack
from kit.stack.own_stack import names_of_parts

OWN = {"postgres", "connect"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def test_a_plain_stack_has_none(home: Home) -> None:
    assert not OWN & names_of_parts(prepared_stack(home, {}))


def test_it_is_there_at_the_next_start_until_it_is_left_out_or_wiped(home: Home) -> None:
    assert names_of_parts(prepared_stack(home, {}, northwind=True)) >= OWN
    assert names_of_parts(known_stack(home)) >= OWN
    assert names_of_parts(prepared_stack(home, {})) >= OWN
    assert not OWN & names_of_parts(prepared_stack(home, {}, northwind=False))

    prepared_stack(home, {}, northwind=True).wipe()
    assert not OWN & names_of_parts(known_stack(home))


def test_it_joins_a_stack_that_runs_and_leaves_one_that_is_down(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared_stack(home, {})
    monkeypatch.setattr(Stack, "is_running", lambda _: True)

    assert names_of_parts(prepared_stack(home, {}, northwind=True)) >= OWN
    with pytest.raises(ConfigureError, match="it is with northwind") as refused:
        prepared_stack(home, {}, northwind=False)
    assert "frazil up --without northwind" in refused.value.todo


def test_a_locked_stack_refuses_it(home: Home) -> None:
    prepared_stack(home, {}, locked=True)

    with pytest.raises(ConfigureError, match="locked stack"):
        prepared_stack(home, {}, northwind=True)

    assert not OWN & names_of_parts(known_stack(home))


def test_its_pipeline_is_loaded_with_it_beside_those_that_a_user_chose(home: Home) -> None:
    prepared_stack(home, {}, northwind=True)
    settings = Settings.of_profile(home.profile)
    before = known_tables(load_pipelines(settings=settings), settings).pipelines
    prepared_stack(home, {}, northwind=False)
    after = load_pipelines(settings=Settings.of_profile(home.profile))

    assert set(before.names) - set(after.names) == {"northwind"}
    assert before.broken == after.broken == ()
    (northwind,) = (pipeline for pipeline in before.sound if pipeline.name == "northwind")
    assert {spec.topic for spec in northwind.tables} == {f"northwind.public.{table}" for table in COUNTS}
    assert {spec.mode for spec in northwind.tables} == {"cdc"}
    assert {spec.kind for spec in northwind.derived} == {"rows", "totals", "full"}

    chosen = str(home.root / "mine")
    assert with_pipeline(with_pipeline(chosen, True), False) == chosen
    assert with_pipeline("", False) == ""


def test_its_tables_have_as_many_rows_as_the_sample_and_the_same_ones_each_time() -> None:
    rows = first_rows()

    assert {table: len(rows_of_table) for table, rows_of_table in rows.items()} == COUNTS
    assert sum(COUNTS.values()) == 3362
    assert rows == first_rows()


def test_every_row_has_a_key_of_its_own() -> None:
    rows = first_rows()
    of_two = ("customer_customer_demo", "employee_territories", "order_details")

    for table, rows_of_table in rows.items():
        assert len({row[: 2 if table in of_two else 1] for row in rows_of_table}) == len(rows_of_table)
    assert len({row[0] for row in rows["customers"]} | {customer_id(n) for n in range(10_000)}) == 10_091


def customer_id(number: int) -> str:
    return str(customer(random.Random(0), 7919 * (92 + number))[0])


@pytest.mark.parametrize("way", ["another user", "util-linux"])
def test_postgres_is_run_by_another_user_or_by_what_makes_root_nobody(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(ConfigureError, match="does not run as root") as refused:
        _program("postgres")

    if way == "another user":
        monkeypatch.setattr("os.geteuid", lambda: 1000)
    else:
        monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")

    assert refused.value.todo == "Run frazil as another user, or install util-linux."
    assert _program("postgres")[-1].endswith("/bin/postgres")
