"""Checks of the user's own: what must hold of the rows that come, and what follows where it does not."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from frazil.expressions.parsing import read_expression
from frazil.expressions.tree import Expression
from frazil.spec.values import Part

OnFailure = Literal["warn", "dead_letter", "stop"]


def _readable(text: str) -> str:
    read_expression(text)
    return text


def _of_one_row(text: str) -> str:
    if text and read_expression(text).aggregates:
        raise ValueError("it is asked of each record by itself, and takes no aggregate")
    return text


RowFilter = Annotated[str, AfterValidator(_of_one_row)]
"""An expression over one row, or nothing."""


class OwnCheck(Part):
    """One check, such as `{name: paid, expect: amount >= 0, on_failure: dead_letter}`."""

    name: str = Field(
        description="Its name: of its check in Dagster, and in the reason of dead letters.",
        pattern=r"^[a-z][a-z0-9_]{0,59}$",
    )
    expect: Annotated[str, AfterValidator(_readable)] = Field(
        description="What must hold: of each row, amount >= 0; or of all rows of a landing, by aggregates: "
        "count(distinct id) = count(*). It fails where it is false; null is no failure.",
    )
    on_failure: OnFailure = Field(
        "warn",
        description="warn: the rows land, and the check says so. dead_letter: the record becomes a dead "
        "letter. stop: nothing of the landing is published, and the table is suspended.",
    )

    @property
    def expression(self) -> Expression:
        """What must hold."""
        return read_expression(self.expect)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.on_failure == "dead_letter" and self.expression.aggregates:
            raise ValueError(
                "on_failure: dead_letter needs a check of single rows; an aggregate is of all of them: "
                "write warn or stop"
            )
        return self


def refuse_twice(checks: tuple[OwnCheck, ...]) -> tuple[OwnCheck, ...]:
    """The checks; raises ValueError where two have one name."""
    names = [check.name for check in checks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)}: a name of two checks; each needs its own")
    return checks


def refuse_underivable(checks: tuple[OwnCheck, ...], *, in_parts: bool) -> None:
    """Refuses what no derivation can ask of the rows that it writes.

    Args:
        in_parts: Whether these are the rows of some files, new ones and old ones, and not all that come.

    Raises:
        ValueError: It names the check.
    """
    for check in checks:
        names = [each.name for each in check.expression.aggregates]
        if check.on_failure == "dead_letter":
            raise ValueError(
                f"checks: {check.name}: on_failure: dead_letter is for records; a query keeps rows apart by "
                "a column `$$error`"
            )
        if names and in_parts:
            raise ValueError(
                f"checks: {check.name}: an aggregate needs kind: rows or full; others rewrite a part of "
                "their rows, with what is beside them"
            )
        if "count_distinct" in names:
            raise ValueError(
                f"checks: {check.name}: count(distinct ...) is for landings, whose records are limited; "
                "count in a table of kind: totals, and check its counts"
            )


OwnChecks = Annotated[tuple[OwnCheck, ...], AfterValidator(refuse_twice)]
