"""What must not reach a table: masked and dropped fields, and records that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from frazil.spec.checks import RowFilter
from frazil.spec.migrations import type_word
from frazil.spec.table import AnyTable
from frazil.spec.values import Part

LEAVE_OUT, OPTIONAL = "leave_out", "optional"
"""What `columns` says of a field that becomes no column, and of one that may be null all the same."""

MaskWord = Literal["hash", "redact", "last4"]

MASK_KEY = "masks"
"""The key of the profile that hashes are made with, where the spec names no other."""

KeyName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,64}$")]


class ColumnMask(Part):
    """What is written of a field in the place of its values: `{mask: hash}`, or nothing: `{drop: true}`."""

    mask: MaskWord | None = Field(None, description="hash, redact or last4.")
    drop: bool = Field(False, description="Whether the field becomes no column.")
    key: KeyName = Field(MASK_KEY, description="hash: the name of the key in the profile's `named_keys`.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.mask is None) is not self.drop:
            raise ValueError("write one of mask: hash, mask: redact, mask: last4 and drop: true")
        if self.key != MASK_KEY and self.mask != "hash":
            raise ValueError("only mask: hash takes a key")
        return self

    @property
    def word(self) -> str:
        """`hash`, `redact`, `last4` or `drop`."""
        return self.mask or "drop"


def _word_or_mask(value: Any) -> Any:
    """A column's word, or its mask; one error for both."""
    if not isinstance(value, Mapping):
        return value if value in (LEAVE_OUT, OPTIONAL) else type_word(str(value))
    try:
        return ColumnMask.model_validate(value)
    except ValidationError as e:
        problem = e.errors()[0]
        at = ".".join(map(str, problem["loc"]))
        text = problem["msg"].removeprefix("Value error, ")
        raise ValueError(f"{at}: {text}" if at else text) from None


ColumnChoice = Annotated[ColumnMask | str, BeforeValidator(_word_or_mask)]


class DeadLetterKeeping(Part):
    """How dead letters of a table with masks keep the bytes of their records."""

    encrypt_with: KeyName | None = Field(
        None,
        description="The name of a key in the profile's `named_keys`, by which raw key and value are kept "
        "encrypted, for a redrive. Default: they are not kept.",
    )


class Guarded(AnyTable):
    """A table with fields that must not be seen in it."""

    columns: dict[str, ColumnChoice] = Field(
        default_factory=dict,
        description="What becomes of single columns, by name. leave_out: the field has none. optional: it "
        "may be null. Or a wider type, by Iceberg's name: long, double, decimal(20,2); string: whole numbers "
        "and decimals as text. Or a mask, of fields within columns too, by path: `{mask: hash}`, `{mask: "
        "redact}`, `{mask: last4}`, `{drop: true}`.",
        json_schema_extra={
            "additionalProperties": {"anyOf": [{"type": "string"}, ColumnMask.model_json_schema()]}
        },
    )
    keep_raw: bool = Field(
        False,
        description="With masks: whether raw columns and dead letters keep the bytes of key and value all "
        "the same, in which masked fields can be read.",
    )
    dead_letters: DeadLetterKeeping = Field(
        default_factory=DeadLetterKeeping, description="How dead letters of a table with masks are kept."
    )
    encryption: Literal["keep", "decrypt"] = Field(
        "keep",
        description="Fields that Confluent's clients encrypt by a rule of the schema (docs/encryption.md). "
        "keep: the ciphertext lands. decrypt: they are opened, by keys from the registry.",
    )
    rules: Literal["ignore", "enforce"] = Field(
        "ignore",
        description="Conditions for readers in a schema's contract (docs/encryption.md). ignore: they land "
        "as if there were none, and reports name the rules. enforce: a record that fails one is bad.",
    )
    where: RowFilter = Field(
        "",
        description="append: which records become rows, as an expression over their fields before masking, "
        "such as `country <> 'XX'`. Others are left out, and counted.",
    )

    @property
    def masks(self) -> dict[str, ColumnMask]:
        """The masks of fields, by path."""
        return {path: choice for path, choice in self.columns.items() if isinstance(choice, ColumnMask)}

    @property
    def column_words(self) -> dict[str, str]:
        """What else is said of columns, by name."""
        return {name: choice for name, choice in self.columns.items() if isinstance(choice, str)}

    @property
    def withholds_raw(self) -> bool:
        """Whether nothing may keep the bytes of a record as they came."""
        return bool(self.masks) and not self.keep_raw

    @model_validator(mode="after")
    def _guards_fit(self) -> Self:
        if self.dead_letters.encrypt_with and not self.withholds_raw:
            raise ValueError(
                "dead_letters: encrypt_with is for tables with masks; others keep the bytes as they came"
            )
        for path in self.masks:
            if inner := next((other for other in self.masks if other.startswith(f"{path}.")), ""):
                raise ValueError(f"columns: {inner} is within {path}, which has a mask as a whole")
        return self
