"""Keys without a schema, decoded by columns."""

import pickle

import pyarrow as pa
import pytest

from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.protocol import KEY, ArrowDecoder, HalfSchemas

RAW = pa.array([b"a", None, b"\xff", b""], pa.binary())


def decoder(name: str) -> ArrowDecoder:
    plain = PLAIN_FORMATS[name]
    found = plain.decoder(HalfSchemas(KEY, plain, "s")).arrow()
    assert found
    return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "rows", "ok"),
    [
        ("bytes", [{"key": b"a"}, {"key": None}, {"key": b"\xff"}, {"key": b""}], [True, False, True, True]),
        ("string", [{"key": "a"}, {"key": None}, {"key": None}, {"key": ""}], [True, False, False, True]),
        ("none", [None, None, None, None], [True, False, True, True]),
    ],
)
def test_bytes_that_are_no_text_are_bad_and_a_missing_key_is_none(
    name: str, rows: list[object], ok: list[bool]
) -> None:
    found = decoder(name).decode(RAW)
    assert found.data.to_pylist() == rows
    assert found.ok.to_pylist() == ok
    assert found.writer.to_pylist() == [None] * 4
