"""Random schemas and records of each format land and read back equal."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kit.drawn.random_formats import RANDOM_FORMATS
from kit.drawn.random_records import groups, value_of
from kit.formats.formats import Source, same

MakeSource = Callable[..., Source]

RECORDS = 20
BY_NAME = {form.name: form for form in RANDOM_FORMATS}

# Every example is a landing of its own: few, wide, and not shrunk.
few = settings(
    derandomize=True,
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["avro", "protobuf", "json"])
@few
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_random_records_land_and_read_back_equal(
    source: MakeSource, name: str, data: st.DataObject, seed: int
) -> None:
    form = BY_NAME[name]
    group, random = data.draw(groups(form.scalars, form.bare_nesting)), Random(seed)
    written = [value_of(group, random) for _ in range(RECORDS)]
    records, encode = source(key_format="none"), form.encoder(group)
    schema_id = records.register(form.schema(group), kind=form.name.upper())
    header = b"\0" + schema_id.to_bytes(4, "big") + form.header
    records.produce(*((None, header + encode(value)) for value in written))

    records.land()

    names = [name for name, _ in group.fields]
    for rows in (records.rows(), records.rows_by_duckdb()):
        values = [{name: row[name] for name in names} for row in rows]
        assert [pair for pair in zip(values, written, strict=True) if not same(*pair)] == []
