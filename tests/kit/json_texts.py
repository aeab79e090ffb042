"""JSON texts that become rows, and texts that must not, each with the code of its reason."""

from __future__ import annotations

from typing import Any

__all__ = ["BAD", "GOOD", "SCHEMA"]

_CONNECT = "org.apache.kafka.connect.data."
_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}
_DECIMAL = {"connect.type": "bytes", "title": f"{_CONNECT}Decimal"}
_SMALL = {"connect.parameters": {"scale": "2", "connect.decimal.precision": "10"}}
_ENTRY = {"type": "object", "properties": {"key": _INTEGER, "value": _STRING}}
_PROPERTIES: dict[str, Any] = {
    "i": _INTEGER,
    "i8": {**_INTEGER, "connect.type": "int8"},
    "i32": {**_INTEGER, "connect.type": "int32"},
    "s": _STRING,
    "en": {"enum": ["A", "B"]},
    "f": {"type": "number"},
    "fl": {"type": "number", "connect.type": "float32"},
    "bo": {"type": "boolean"},
    "by": {"type": "string", "connect.type": "bytes"},
    "d": {"type": "number", **_DECIMAL, **_SMALL},
    "d18": {"type": "number", **_DECIMAL},
    "db": {"type": "string", **_DECIMAL, **_SMALL},
    "day": {**_INTEGER, "connect.type": "int32", "title": f"{_CONNECT}Date"},
    "tm": {**_INTEGER, "connect.type": "int32", "title": f"{_CONNECT}Time"},
    "ts": {**_INTEGER, "connect.type": "int64", "title": f"{_CONNECT}Timestamp"},
    "a": {"type": "array", "items": _INTEGER},
    "m": {"type": "object", "additionalProperties": _STRING},
    "mk": {"type": "array", "connect.type": "map", "items": _ENTRY},
    "o": {"type": "object", "required": ["x"], "properties": {"x": _STRING}},
    "u": {"oneOf": [{**_STRING, "title": "s"}, {**_INTEGER, "title": "i"}]},
    "ud": {"anyOf": [{"type": "number", **_DECIMAL, **_SMALL}, {**_STRING, "title": "s"}]},
}
SCHEMA = {"type": "object", "required": ["i"], "properties": _PROPERTIES}

GOOD: tuple[tuple[str, dict[str, str]], ...] = (
    ('{"i":1}', {}),
    (' \n{ "i" : 1 }\t', {}),
    ('{"i":1,"more":{"x":[1,{"y":null}]}}', {}),
    ('{"i":2,"i":1}', {"i": "1"}),
    ('{"i":1,"s":"\\ud83d\\ude8b \\\\ud83d"}', {"s": "🚋 \\ud83d"}),
    ('{"i":1,"d":12.3400}', {"d": "12.34"}),
    ('{"i":1,"d":0E-10}', {"d": "0.00"}),
    ('{"i":1,"d":1E+3}', {"d": "1000.00"}),
    ('{"i":1,"d18":1.2345E-8,"f":1.2345678901234567E-100}', {"d18": "1.2345000000E-8"}),
    (
        '{"i":1,"d18":12345678901234567890.123456789012345678}',
        {"d18": "12345678901234567890.123456789012345678"},
    ),
    ('{"i":1,"db":"/w=="}', {"db": "-0.01"}),
    ('{"i":1,"f":1e-400}', {"f": "0.0"}),
    ('{"i":1,"u":"5"}', {"u.s": "5"}),
    ('{"i":1,"u":5}', {"u.i": "5"}),
    ('{"i":1,"ud":1.25}', {"ud.connect_union_field_0": "1.25"}),
)
"""Texts, and some of their columns as Spark's text."""

BAD: tuple[tuple[str, str], ...] = (
    ("", "not_json"),
    ("null", "type"),
    ("5", "type"),
    ('[{"i":1}]', "type"),
    ("{}", "required"),
    ('{"i":null}', "type"),
    ('{"i":1,}', "not_json"),
    ("{'i':1}", "not_json"),
    ('{"i":01}', "not_json"),
    ('\ufeff{"i":1}', "not_json"),
    ('{"i":1,"f":NaN}', "not_json"),
    ('{"i":1,"s":"a\tb"}', "not_json"),
    ('{"i":1} x', "trailing_bytes"),
    ('{"i":1}{"i":1}', "trailing_bytes"),
    ('{"i":1},{"i":1}', "trailing_bytes"),
    ('{"i":1}],"x":[3', "trailing_bytes"),
    ('{"i":1}],"v":[{"i":1}', "trailing_bytes"),
    ('{"i":1}]}} x', "trailing_bytes"),
    ('{"i":1.0}', "number_form"),
    ('{"i":1e2}', "number_form"),
    ('{"i":9223372036854775808}', "range"),
    ('{"i":1,"i8":128}', "range"),
    ('{"i":1,"i32":-2147483649}', "range"),
    ('{"i":1,"s":5}', "type"),
    ('{"i":1,"s":{"a":"b"}}', "type"),
    ('{"i":1,"s":"\\ud83d"}', "utf8"),
    ('{"i":1,"s":"\\\\\\ude8b"}', "utf8"),
    ('{"i":1,"en":"C"}', "enum"),
    ('{"i":1,"f":1e400}', "range"),
    ('{"i":1,"f":"NaN"}', "type"),
    ('{"i":1,"fl":1e39}', "range"),
    ('{"i":1,"bo":1}', "type"),
    ('{"i":1,"by":"AAE"}', "base64"),
    ('{"i":1,"by":"AA\\n=="}', "base64"),
    ('{"i":1,"by":"AA\x13=="}', "not_json"),
    ('{"i":1,"d":12.345}', "range"),
    ('{"i":1,"d":123456789.12}', "range"),
    ('{"i":1,"d":"12.34"}', "type"),
    ('{"i":1,"d":1.00000000000000000001E1}', "range"),
    ('{"i":1,"d18":0.1234567890123456789}', "range"),
    ('{"i":1,"db":"AAAAAAAAAAAAAAAAAAAAAAA="}', "range"),
    ('{"i":1,"day":2932897}', "range"),
    ('{"i":1,"tm":86400000}', "range"),
    ('{"i":1,"ts":9223372036854775807}', "range"),
    ('{"i":1,"a":[1,null]}', "type"),
    ('{"i":1,"a":["x"]}', "type"),
    ('{"i":1,"m":{"k":5}}', "type"),
    ('{"i":1,"m":{"k":null}}', "type"),
    ('{"i":1,"m":{"k":"a","k":"b"}}', "repeated_key"),
    ('{"i":1,"mk":[{"value":"x"}]}', "repeated_key"),
    ('{"i":1,"mk":[{"key":1,"value":"a"},{"key":1,"value":"b"}]}', "repeated_key"),
    ('{"i":1,"o":{}}', "required"),
    ('{"i":1,"u":1.5}', "number_form"),
    ('{"i":1,"ud":1.00000000000000000001E1}', "range"),
    ("[" * 3000, "not_json"),
    ('{"i":' + "9" * 2000 + "}", "range"),
)
"""Texts, and the code of the reason."""
