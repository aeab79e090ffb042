"""What the verifier expects of masked fields: docs/masks.md."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from frazil_verify.findings import UnverifiableError
from frazil_verify.masks.masks import Masks, changed_masks
from frazil_verify.request import Mask, Request
from frazil_verify.table.metadata import Column

KEY = "a key of more than sixteen characters"


def masks(**words: str) -> Masks:
    made = {path: Mask.model_validate({"word": word, "key": KEY}) for path, word in words.items()}
    return Masks(made)


def made(kind: str, word: str, value: Any) -> Any:
    convert = masks(c=word).of(Column(1, "c", kind, False))
    assert convert is not None
    return convert(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", "ann@example.com", b"ann@example.com"), ("long", -12, b"-12"),
        ("binary", b"\xff", b"\xff"),
        ("decimal(9, 2)", -5, b"-0.05"), ("decimal(9, 2)", 150, b"1.50"), ("decimal(38, 0)", 7, b"7"),
        ("decimal(38, 6)", -(10**37), b"-" + b"1" + b"0" * 31 + b".000000"),
    ],
)  # fmt: skip
def test_a_hash_is_of_a_values_text(kind: str, value: Any, text: bytes) -> None:
    assert made(kind, "hash", value) == hmac.new(KEY.encode(), text, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4111_0000_0000_0000, "****0000"),
        ("1234567", "****"),
        ("12345678", "****5678"),
        (-1234567, "****4567"),
    ],
)
def test_last4_shows_the_end_of_what_is_long_enough(value: Any, shown: str) -> None:
    assert made("string", "last4", value) == shown


def test_a_mask_that_changed_is_of_a_column_that_is_not_compared() -> None:
    properties = {"frazil.masks": json.dumps({"marks": {}, "done": ["mask-email"]})}

    assert changed_masks({}, {}) == frozenset()
    assert changed_masks(properties, {"mask-email": "home.email", "other": "x"}) == {"home"}
    with pytest.raises(UnverifiableError, match="mask-email, which the spec no longer has"):
        changed_masks(properties, {})


def test_a_request_shows_no_key_of_a_hash() -> None:
    asked = Request.model_validate({
        "topic": "t", "kafka": {}, "registry": {"url": "none:"}, "storage": {}, "metadata": "m",
        "mode": "append", "key": {"format": "none"}, "value": {"format": "json"}, "metadata_columns": {},
        "masks": {"email": {"word": "hash", "key": KEY}},
    })  # fmt: skip

    assert KEY not in f"{asked!r} {asked} {asked.masks}"
