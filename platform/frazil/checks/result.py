"""What a check is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from frazil.connections import Connections
from frazil.spec.names import Things
from frazil.spec.table import AnyTable

__all__ = ["Check", "CheckResult", "Number", "Subject", "Verdict"]

S = TypeVar("S", bound=AnyTable, covariant=True)

Number = int | float | str
Layer = Literal["iceberg", "dead_letters", "glue", "snowflake"]
Severity = Literal["ERROR", "WARN"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one table: a sentence with the numbers that it compared; `layer` is what it guards."""

    check: str
    table: str
    passed: bool
    severity: Severity
    text: str
    numbers: Mapping[str, Number]
    layer: Layer


@dataclass(frozen=True)
class Subject(Generic[S]):
    """What a check looks at."""

    spec: S
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
    layer: Layer
    blocking: bool
    description: str
    look: Callable[[Subject[Any]], Verdict]
    deep: bool = False
