"""Keys without a schema, decoded by columns."""

import pickle

import pyarrow as pa
import pytest

from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.protocol import KEY, ArrowDecoder, HalfSchemas

RAW = pa.array([b"a", None, b"\xff", b""], pa.binary())


def decoder(name: str) -> ArrowDecoder:
    plain = PLAIN_FORMATS[name]
    arrow = plain.decoder(HalfSchemas(KEY, plain, "s")).arrow()
    assert arrow
    return pickle.loads(pickle.dumps(arrow))  # type: ignore[no-any-return]


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
    batch = decoder(name).decode(RAW)
    assert batch.data.to_pylist() == rows
    assert batch.ok.to_pylist() == ok
    assert batch.writer.to_pylist() == [None] * 4
