"""A list of prices: the one that comes with Frazil, and a user's own in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from frazil.costs.units import GIB, MONTH, Unit, Units
from frazil.pipelines.attributes import model_of
from frazil.pipelines.places import read_document

SHIPPED = Path(__file__).with_name("prices.yaml")

Priced = Literal["storage", "writes", "reads", "glue_calls", "cpu", "warehouse"]
Charged = Literal["topics", "traffic", "hours"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Price(BaseModel):
    """One price, of whom, and where it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    price: float | None = Field(None, ge=0, allow_inf_nan=False, description="Nothing: it is not known.")
    of: Text = Field(description="What is sold.")
    source: str = Field("", description="Where the price stands.")
    date: date


class PriceList(BaseModel):
    """All prices, in one currency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: Text = "USD"
    prices: Mapping[Priced, Price] = Field(default_factory=dict, description="Of what one's own tables take.")
    services: Mapping[str, Mapping[Charged, Price]] = Field(
        default_factory=dict, description="Of services that would do the same work."
    )

    def over(self, other: PriceList) -> PriceList:
        """These prices, and those of another list that are not among them; none in another currency."""
        if other.currency != self.currency:
            return self
        prices = {**other.prices, **self.prices}
        return PriceList(currency=self.currency, prices=prices, services={**other.services, **self.services})


@dataclass(frozen=True, slots=True)
class _Rate:
    """How many of a unit a price is for."""

    unit: Unit
    many: float


_RATES: Mapping[Priced | Charged, _Rate] = {
    "storage": _Rate("byte_seconds", GIB * MONTH),
    "writes": _Rate("writes", 1_000),
    "reads": _Rate("reads", 1_000),
    "glue_calls": _Rate("glue_calls", 1_000_000),
    "cpu": _Rate("task_seconds", 3_600),
    "warehouse": _Rate("warehouse_seconds", 3_600),
    "topics": _Rate("topic_seconds", 3_600),
    "traffic": _Rate("bytes_in", GIB),
    "hours": _Rate("seconds", 3_600),
}


_OF_TABLES: tuple[Priced, ...] = ("storage", "writes", "reads", "glue_calls", "cpu", "warehouse")


@dataclass(frozen=True, slots=True)
class Amount:
    """Money for units, and the names of prices that nobody knows."""

    money: float
    unknown: tuple[str, ...] = ()


def amount_of(units: Units, prices: PriceList) -> Amount:
    """What units cost by a list. One of which there is none costs nothing; a price that lacks is named."""
    return _amount(units, [(name, prices.prices.get(name)) for name in _OF_TABLES])


def services_of(units: Units, prices: PriceList) -> dict[str, Amount]:
    """What other services list for the same traffic."""
    return {name: _amount(units, charged.items()) for name, charged in prices.services.items()}


def _amount(units: Units, prices: Iterable[tuple[Priced | Charged, Price | None]]) -> Amount:
    money, unknown = 0.0, []
    for name, price in prices:
        count = units.get(_RATES[name].unit, 0)
        if price is not None and price.price is not None:
            money += price.price * count / _RATES[name].many
        elif count:
            unknown.append(name)
    return Amount(money, tuple(unknown))


def money_text(amount: Amount) -> str:
    """An amount for people, with the prices that lack."""
    money = amount.money
    text = f"{money:,.2f}" if money >= 1 else f"{money:.4f}" if money >= 0.0001 or not money else "< 0.0001"
    if amount.unknown and not amount.money:
        return f"no price of {', '.join(amount.unknown)}"
    return f"{text}, and no price of {', '.join(amount.unknown)}" if amount.unknown else text


def load_prices(own: Path | None) -> PriceList:
    """The list that comes with Frazil, with a user's prices in place of its own.

    Raises:
        SpecError: The file has a mistake; the error names its line.
    """
    shipped = _read(SHIPPED)
    return _read(own).over(shipped) if own else shipped


def _read(file: Path) -> PriceList:
    return model_of(read_document(file), PriceList)
