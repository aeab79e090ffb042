"""Prices: those that come with Frazil, a user's own, and what no list knows."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from frazil.costs.prices import SHIPPED, amount_of, load_prices, services_of
from frazil.costs.units import Units
from frazil.errors import SpecError

MONTH_OF_A_GIB = 2**30 * 730 * 3600
MEASURED: Units = {
    "byte_seconds": 10 * MONTH_OF_A_GIB, "writes": 200_000, "glue_calls": 0, "bytes_in": 5 * 2**30,
    "topic_seconds": 7_200, "seconds": 36_000,
}  # fmt: skip


def own(folder: Path, text: str) -> Path:
    file = folder / "prices.yaml"
    file.write_text(text)
    return file


def test_each_price_that_comes_with_frazil_says_where_it_stands_and_since_when() -> None:
    prices = load_prices(None)

    every = [*prices.prices.values(), *(p for s in prices.services.values() for p in s.values())]
    assert all(price.source.startswith("https://") and price.date > date(2026, 9, 1) for price in every)
    assert all(price.price is not None for price in prices.prices.values())


def test_units_cost_what_the_list_says() -> None:
    assert amount_of(MEASURED, load_prices(None)).money == pytest.approx(10 * 0.023 + 200 * 0.005)
    assert amount_of({"task_seconds": 7_200}, load_prices(None)).money == pytest.approx(2 * 0.052624)


def test_a_price_that_nobody_knows_is_named_and_is_no_zero() -> None:
    services = services_of(MEASURED, load_prices(None))

    assert services["Tableflow"].unknown == ("topics", "traffic")
    assert services["MSK Connect, one worker unit"].money == pytest.approx(1.1)


def test_a_list_of_ones_own_takes_the_place_of_single_prices(tmp_path: Path) -> None:
    file = own(
        tmp_path,
        "prices: {cpu: {price: 0.01, of: a core of ours, date: 2026-01-01}}\n"
        "services: {Tableflow: {topics: {price: 1, of: a topic, date: 2026-01-01},"
        " traffic: {price: 2, of: a GB, date: 2026-01-01}}}",
    )

    prices = load_prices(file)

    assert amount_of({"task_seconds": 3_600, "writes": 1_000}, prices).money == pytest.approx(0.015)
    assert services_of(MEASURED, prices)["Tableflow"].money == 2 * 1 + 5 * 2
    assert services_of(MEASURED, prices).keys() == services_of(MEASURED, load_prices(None)).keys()


def test_prices_of_two_currencies_are_never_added_up(tmp_path: Path) -> None:
    file = own(tmp_path, "currency: EUR\nprices: {cpu: {price: 0.01, of: a core, date: 2026-01-01}}")

    amount = amount_of({**MEASURED, "task_seconds": 3_600}, load_prices(file))

    assert (amount.money, amount.unknown) == (pytest.approx(0.01), ("storage", "writes"))


def test_a_mistake_in_ones_own_list_names_its_line(tmp_path: Path) -> None:
    file = own(tmp_path, SHIPPED.read_text().replace("  storage:", "  storages:"))

    with pytest.raises(SpecError, match=r"prices\.yaml:6.*storages"):
        load_prices(file)
