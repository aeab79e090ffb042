"""Records that are made to be slow, or to end the work on others, have a reason like any other."""

from __future__ import annotations

import json

import pytest

from frazil.formats.json.nodes import Member, Members, Scalar
from frazil.formats.json.reasons import JsonReasons
from frazil.formats.logical import Decimal, Primitive
from frazil.formats.protocol import WriterSchema

_SCHEMA = '{"type": "object", "properties": {"a": {"type": "string"}}}'
_NODE = Members((Member("a", Scalar(Primitive("string"), "string"), True),))
REASONS = JsonReasons(WriterSchema(1, 1, _SCHEMA, "JSON"), _NODE, strict=False)


def test_as_many_keys_as_a_message_holds_are_read_as_fast_as_few() -> None:
    keys = {str(n): n for n in range(60_000)}

    code, _ = REASONS.explain(json.dumps({"a": 1, **keys}).encode())

    assert code == "type"


def test_a_field_that_nobody_knows_may_be_as_deep_as_it_likes() -> None:
    code, why = REASONS.explain(b'{"a": "x", "more": ' + b"[" * 800 + b"]" * 800 + b"}")

    assert (code, why) == ("not_json", "the text is nested too deeply")


@pytest.mark.parametrize("exponent", ["9999999", "-9999999", "9" * 400, "-" + "9" * 400])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_exponent_of_any_size_is_a_number(sign: str, exponent: str) -> None:
    number = Members((Member("a", Scalar(Primitive("double"), "double"), True),))
    reasons = JsonReasons(WriterSchema(1, 1, '{"type": "object"}', "JSON"), number, strict=False)

    code, why = reasons.explain(f'{{"a": {sign}1e{exponent}}}'.encode())

    small = exponent.startswith("-")
    assert (code, "beyond a double" in why) == (("value", False) if small else ("range", True))


@pytest.mark.parametrize("exponent", ["9" * 7, "9" * 400])
def test_an_exponent_of_any_size_is_no_decimal(exponent: str) -> None:
    number = Members((Member("a", Scalar(Decimal(9, 2), "number"), True),))
    reasons = JsonReasons(WriterSchema(1, 1, '{"type": "object"}', "JSON"), number, strict=False)

    assert reasons.explain(f'{{"a": 1e{exponent}}}'.encode())[0] == "range"
