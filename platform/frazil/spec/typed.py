"""Typed columns over JSON text, which a view has beside the text: what a user lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from frazil.spec.fields import ANY_JSON, OfFields, PlacedField, element_of, refuse_twins
from frazil.spec.guard import LEAVE_OUT

_ONE_COLUMN = {"string": True, "bytes": False, "none": False}
"""Formats by which a half becomes at most one column, called like it; whether that is text."""


class TypedField(PlacedField):
    """A column of a view, read from JSON text: `{name: city, type: string, path: address.city}`."""

    @field_validator("type")
    @classmethod
    def _single(cls, value: str) -> str:
        if element_of(value) or value == "binary":
            raise ValueError(f"a view has no column of type {value}; write json, which is its text")
        return value


class OfTyped(OfFields):
    """A table with columns of JSON text, of which a view has typed columns."""

    typed: dict[str, tuple[TypedField, ...]] = Field(
        default_factory=dict,
        description="Typed columns of `<table>_clean` in Snowflake, beside the JSON text that they are read "
        "from, by its column: {value: [{name: city, type: string, path: address.city}]}. Null where the "
        "text does not have it, or has what does not fit. See docs/json.md.",
    )

    @model_validator(mode="after")
    def _typed_fit(self) -> Self:
        if not self.typed:
            return self
        if "snowflake" not in self.publish:
            raise ValueError(
                "typed: Snowflake's view has them, and publish does not name it; write publish: [glue, "
                "snowflake], or for other engines a query of your own (views)"
            )
        refuse_twins("typed", (field.name for fields in self.typed.values() for field in fields))
        for column, fields in self.typed.items():
            self._check_source(column)
            for field in fields:
                self._check_free(field.name)
        return self

    def _check_source(self, column: str) -> None:
        if column in self.masks or self.column_words.get(column) == LEAVE_OUT:
            raise ValueError(f"typed: {column} is masked, dropped or left out; nothing can be read of it")
        known = self._known_columns()
        if known is not None and not known.get(column.lower(), False):
            why = "holds no JSON text" if column.lower() in known else "is no column of the table"
            texts = ", ".join(name for name, is_text in known.items() if is_text)
            raise ValueError(f"typed: {column} {why}; with text are: {texts or 'none'}")

    def _check_free(self, name: str) -> None:
        if name.lower() in (self._known_columns() or {}):
            raise ValueError(f"typed: the table has a column {name} itself; name the typed one otherwise")

    def _known_columns(self) -> Mapping[str, bool] | None:
        """The columns, and whether they are text; None where only a schema tells them."""
        given: dict[str, Any] = {name: getattr(self, name) for name in ("key_format", "value_format")}
        key, value = given["key_format"], given["value_format"]
        if key not in _ONE_COLUMN or (value != "string" and not self.fields):
            return None
        of_key = {} if key == "none" else {"key": _ONE_COLUMN[key]}
        if not self.fields:
            return {**of_key, "value": True}
        rest = {"$$rest": True, "cflt_metadata_rest": True} if self.rest else {}
        return {**of_key, **{f.name.lower(): f.type in ("string", ANY_JSON) for f in self.fields}, **rest}
