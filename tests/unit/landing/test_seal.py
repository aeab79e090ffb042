"""Bytes of dead letters: as they came, withheld, or encrypted; their key opens them, in their place only."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr

from frazil.errors import ConfigureError
from frazil.landing.repairs.seal import WITHHELD, Opening, Seal, opened, sealing_key
from frazil.spec.topic import TableSpec

KEYS = {"letters": SecretStr("a key of more than sixteen characters")}
RECORD: dict[str, Any] = {"raw_key": None, "raw_value": b"\0secret", "partition": 1, "offset": 7}
PLACE = ("t", 1, 7)


def sealed_by(**more: Any) -> dict[str, Any]:
    spec = TableSpec(topic="t", **more)
    return Seal.of(spec, KEYS).kept(RECORD, "t")


def masked(**more: Any) -> dict[str, Any]:
    return sealed_by(columns={"email": {"mask": "redact"}}, **more)


def test_bytes_stay_where_nothing_is_masked_or_the_owner_wants_them() -> None:
    plain = {"raw_key": None, "raw_value": b"\0secret"}

    assert sealed_by() == plain
    assert masked(keep_raw=True) == plain


def test_bytes_of_a_masked_table_are_not_kept() -> None:
    assert masked() == {"raw_key": None, "raw_value": None, "seal": WITHHELD, "sealed": None}


def test_encrypted_bytes_are_opened_by_their_key_in_their_place_only() -> None:
    letter = masked(dead_letters={"encrypt_with": "letters"})
    key = sealing_key(KEYS, "letters")

    assert (letter["raw_value"], letter["seal"]) == (None, "letters")
    assert b"secret" not in letter["sealed"]
    assert opened(letter["sealed"], "letters", key, PLACE) == (None, b"\0secret")
    other = sealing_key({"letters": SecretStr("another key of enough characters")}, "letters")
    for used, place in ((other, PLACE), (key, ("t", 1, 8)), (key, ("u", 1, 7))):
        with pytest.raises(ConfigureError, match="encrypted with another key"):
            opened(letter["sealed"], "letters", used, place)


def test_the_same_record_is_never_encrypted_to_the_same_bytes() -> None:
    first, second = (masked(dead_letters={"encrypt_with": "letters"})["sealed"] for _ in range(2))

    assert first != second


def test_batches_of_letters_are_opened_in_place_beside_others() -> None:
    letter = masked(dead_letters={"encrypt_with": "letters"})
    rows = pa.table(
        {
            "raw_key": pa.array([None, b"k"], pa.binary()), "raw_value": pa.array([None, b"v"], pa.binary()),
            "seal": ["letters", None], "sealed": pa.array([letter["sealed"], None], pa.binary()),
            "topic": ["t", "t"], "partition": pa.array([1, 1], pa.int32()), "offset": pa.array([7, 8]),
        }
    )  # fmt: skip
    opening = Opening({"letters": sealing_key(KEYS, "letters")})

    (batch,) = opening.run(rows.to_batches())

    assert batch["raw_value"].to_pylist() == [b"\0secret", b"v"]
    assert batch["raw_key"].to_pylist() == [None, b"k"]


def test_no_key_is_in_what_people_may_see() -> None:
    seal = Seal.of(
        TableSpec(topic="t", columns={"a": {"drop": True}}, dead_letters={"encrypt_with": "letters"}), KEYS
    )

    assert seal.key
    assert repr(seal) == "Seal(name='letters')"
    with pytest.raises(ConfigureError, match="key letters is missing"):
        Seal.of(
            TableSpec(topic="t", columns={"a": {"drop": True}}, dead_letters={"encrypt_with": "letters"}), {}
        )
