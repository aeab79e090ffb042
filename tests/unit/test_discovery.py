"""What is proposed for a topic, by what some of its records show."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from frazil.discovery import Sample, propose
from frazil.pipelines.file import load_pipeline
from frazil.settings.profile import Settings
from kit.examples import examples

FRAMED = b"\0\0\0\0\x07\x02"
MIB = 2**20


def proposed(*values: bytes | None, keys: tuple[bytes | None, ...] = (b"k",), **kinds: str) -> Any:
    proposal, _ = propose("orders", Sample(keys, values), None, kinds)
    return proposal


@pytest.mark.parametrize(
    ("values", "kinds", "fields"),
    [
        ((FRAMED,), {"value": "AVRO"}, {}),
        ((), {"value": "JSON"}, {}),
        ((b'{"a": 1}',), {"value": "JSON"}, {"framing": "none"}),
        ((FRAMED, None), {"value": "PROTOBUF"}, {"on_null_value": "keep"}),
        ((b'{"a": 1}', b"{}"), {}, {"value_format": "string"}),
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
    assert proposal.get("partition_by") == partitions


def test_what_a_day_brings_is_told_by_an_hour_or_more() -> None:
    hour = 3_600_000

    assert Sample(times=(5, 5 + 12 * hour)).days == 0.5
    assert Sample(times=(5, 5 + hour - 1)).days is None
    assert Sample((b"12", None), (b"1234", b"1234")).bytes == 5


parts = st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode)


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
    pipeline = {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": [proposal]}}
    (folder / "defs.yaml").write_text(yaml.safe_dump(pipeline, sort_keys=False))

    (spec,) = load_pipeline(folder, Settings().connections).tables

    assert spec.topic == "a.B-c_1"
