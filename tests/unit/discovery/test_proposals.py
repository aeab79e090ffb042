"""What is proposed for a topic, by what some of its records show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.discovery.files import pipeline_text
from frazil.discovery.proposal import propose
from frazil.discovery.sample import Sample
from frazil.pipelines.file import load_pipeline
from frazil.settings.profile import Settings
from kit.drawn.examples import examples

FRAMED = b"\0\0\0\0\x07\x02"
MIB = 2**20


def proposed(*values: bytes | None, keys: tuple[bytes | None, ...] = (b"k",), **kinds: str) -> Any:
    proposal, _ = propose("orders", Sample(keys, values), None, kinds)
    return proposal and proposal.table


@pytest.mark.parametrize(
    ("values", "kinds", "fields"),
    [
        ((FRAMED,), {"value": "AVRO"}, {}),
        ((), {"value": "JSON"}, {}),
        ((b'{"a": 1}',), {"value": "JSON"}, {"framing": "none"}),
        ((FRAMED, None), {"value": "PROTOBUF"}, {"on_null_value": "keep"}),
        ((b'{"a": 1}', b"{}"), {}, {"value_schema": "orders.json", "framing": "none"}),
        ((b"{}", b"{}"), {}, {"value_format": "string"}),
        ((b'{"a b": 1}',), {}, {"value_format": "string"}),
        ((b'{"a": 1}', b"text"), {}, {"value_format": "string"}),
        ((b"[1]", b"2"), {}, {"value_format": "string"}),
        (("caf\u00e9".encode(),), {}, {"value_format": "string"}),
        ((b"\xff\xfe",), {}, {"value_format": "bytes"}),
        ((b"text", b"\0\0\0\0\0\0"), {}, {"value_format": "bytes"}),
    ],
)
def test_values_are_described_as_the_registry_and_the_records_say(
    values: tuple[bytes | None, ...], kinds: dict[str, str], fields: dict[str, str]
) -> None:
    assert proposed(*values, keys=(b"k",), **kinds) == {"topic": "orders", "key_format": "string", **fields}


@pytest.mark.parametrize(
    ("keys", "kinds", "fields"),
    [
        ((b"a", None), {}, {"key_format": "string"}),
        ((b"\x80",), {}, {"key_format": "bytes"}),
        ((None, None), {}, {"key_format": "none"}),
        ((FRAMED,), {"key": "AVRO"}, {}),
        ((b"k",), {"key": "AVRO"}, {"key_format": "string"}),
    ],
)
def test_keys_likewise(keys: tuple[bytes | None, ...], kinds: dict[str, str], fields: dict[str, str]) -> None:
    assert proposed(FRAMED, keys=keys, value="AVRO", **kinds) == {"topic": "orders", **fields}


@pytest.mark.parametrize(("values", "why"), [((), "no value to look at"), ((FRAMED,), "no subject")])
def test_a_person_decides_where_nothing_tells(values: tuple[bytes, ...], why: str) -> None:
    proposal, notes = propose("orders", Sample((), values), None, {})

    assert proposal is None
    assert why in notes[0]


@pytest.mark.parametrize(
    ("daily", "partitions"),
    [
        (None, None),
        (127 * MIB, None),
        (128 * MIB, ["day($$timestamp)"]),
        (24 * 128 * MIB, ["hour($$timestamp)"]),
    ],
)
def test_partitions_are_as_long_as_a_file_takes_to_fill(daily: int | None, partitions: Any) -> None:
    proposal, _ = propose("orders", Sample((), (FRAMED,)), daily, {"value": "AVRO"})

    assert proposal
    assert proposal.table.get("partition_by") == partitions


def test_what_a_day_brings_is_told_by_an_hour_or_more() -> None:
    hour = 3_600_000

    assert Sample(times=(5, 5 + 12 * hour)).days == 0.5
    assert Sample(times=(5, 5 + hour - 1)).days is None
    assert Sample((b"12", None), (b"1234", b"1234")).bytes == 5


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=4), documents, max_size=4).map(lambda o: json.dumps(o).encode())
parts = st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode) | objects


@examples(20)
@given(
    keys=st.lists(parts, max_size=4),
    values=st.lists(parts, max_size=4),
    daily=st.none() | st.integers(0, 10**12),
    kinds=st.dictionaries(st.sampled_from(["key", "value"]), st.sampled_from(["AVRO", "JSON", "PROTOBUF"])),
)
def test_every_proposal_is_a_pipeline_without_mistakes(
    tmp_path_factory: pytest.TempPathFactory, keys: Any, values: Any, daily: Any, kinds: Any
) -> None:
    proposal, _ = propose("a.B-c_1", Sample(tuple(keys), tuple(values)), daily, kinds)
    if proposal is None:
        return
    folder = tmp_path_factory.mktemp("found")
    (folder / "defs.yaml").write_text(pipeline_text([proposal]))
    for name, text in proposal.files.items():
        (folder / name).write_text(text)

    (spec,) = load_pipeline(folder, Settings()).tables

    assert spec.topic == "a.B-c_1"
