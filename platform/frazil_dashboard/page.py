"""A page that a pipeline shows of its tables: what dashboard.yaml holds.

A chart is a SELECT in DuckDB's SQL. What a reader chooses is a value of it, such as `$airline`: never text
that is put into the SQL.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Choice(_Model):
    """What a reader of the page chooses: one of the values that a SELECT gives, or a number."""

    name: Word = Field(description="What SQL calls the value: `airline` is `$airline`.")
    label: str = Field("", description="What the page calls it; by default the name.")
    sql: str = Field("", description="A SELECT of one column: the values to choose from.")
    least: int | None = Field(None, alias="from", description="The least number of a slider.")
    most: int | None = Field(None, alias="to", description="The greatest number of a slider.")
    value: int | None = Field(None, description="Where the slider stands at first; by default at `from`.")

    @model_validator(mode="after")
    def _one_kind(self) -> Choice:
        slides = self.least is not None and self.most is not None
        if bool(self.sql) == slides:
            raise ValueError("write `sql`, or `from` and `to`")
        if self.least is not None and self.most is not None and not self.least < self.most:
            raise ValueError("`from` must be less than `to`")
        return self


class Chart(_Model):
    """One figure of a page."""

    title: Text = Field(description="What stands above it.")
    kind: Literal["line", "bar", "table", "number"] = Field(
        "table", description="`number` shows the first value."
    )
    sql: Text = Field(description="A SELECT over tables, in DuckDB's SQL.")
    x: str = Field("", description="The column along the axis; of `line` and `bar`.")
    y: str = Field("", description="The column of the heights; of `line` and `bar`.")
    colour: str = Field("", description="A column that divides the rows into lines, or parts of bars.")
    rows: int = Field(1000, ge=1, le=100_000, description="Most rows that are shown.")

    @model_validator(mode="after")
    def _axes(self) -> Chart:
        if self.kind in ("line", "bar") and not (self.x and self.y):
            raise ValueError(f"a {self.kind} needs `x` and `y`")
        return self


class Page(_Model):
    """All that one dashboard.yaml says."""

    title: Text = Field(description="The name of the page.")
    text: str = Field("", description="What stands below the title, in Markdown.")
    choices: tuple[Choice, ...] = Field((), description="What a reader chooses.")
    charts: tuple[Chart, ...] = Field(min_length=1, description="The figures, one below the other.")

    @property
    def queries(self) -> tuple[str, ...]:
        """Every SELECT of the page."""
        return tuple(c.sql for c in self.choices if c.sql) + tuple(chart.sql for chart in self.charts)
