"""What a check is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from frazil.naming import Things
from frazil.spec import TableSpec

if TYPE_CHECKING:
    from frazil.connections import Connections

__all__ = ["Check", "CheckResult", "Number", "Subject", "Verdict"]

Number = int | float | str
Layer = Literal["iceberg", "dead_letters", "glue", "snowflake"]
Severity = Literal["ERROR", "WARN"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one table: a sentence with the numbers that it compared."""

    check: str
    table: str
    passed: bool
    severity: Severity
    text: str
    numbers: Mapping[str, Number]


@dataclass(frozen=True)
class Subject:
    """What a check looks at."""

    spec: TableSpec
    things: Things
    connections: Connections


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check function finds; its name and table are added by whoever runs it."""

    passed: bool
    text: str
    numbers: Mapping[str, Number]
    severity: Severity = "ERROR"


@dataclass(frozen=True, slots=True)
class Check:
    """A check, the layer that it guards, and whether readers must be kept from what fails it.

    `deep` ones read the data, not only metadata, and run on request.
    """

    name: str
    asset: Layer
    blocking: bool
    description: str
    look: Callable[[Subject], Verdict]
    deep: bool = False
