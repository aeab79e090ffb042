"""A view has typed columns beside JSON text; each text is written here with what it should give."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.publishing.snowflake.tables import Snowflake
from frazil.spec.topic import TableSpec
from kit.readers.targets import sync_glue
from kit.records.topics import topic_maker

TYPED = [
    {"name": "id", "type": "long"},
    {"name": "city", "type": "string", "path": "user.address.city"},
    {"name": "price", "type": "decimal(9,2)"},
    {"name": "score", "type": "double"},
    {"name": "ok", "type": "boolean"},
    {"name": "day", "type": "date"},
    {"name": "seen", "type": "timestamptz", "path": "at"},
    {"name": "local", "type": "timestamp", "path": "at_local"},
    {"name": "sent", "type": "timestamp", "unit": "millis"},
    {"name": "who", "type": "json", "path": "user"},
]
NAMES = [field["name"] for field in TYPED]
TEN = dt.datetime(2026, 11, 26, 10, tzinfo=dt.UTC)
USER = {"address": {"city": "Bonn"}}
FITS = {
    "id": 1, "user": USER, "price": 3.5, "score": 2.5, "ok": False, "day": "2026-11-26",
    "at": "2026-11-26T11:00:00+01:00", "at_local": "2026-11-26T10:00:00", "sent": 1795687200000,
}  # fmt: skip
GIVES = [1, "Bonn", Decimal("3.50"), 2.5, False, TEN.date(), TEN, *[TEN.replace(tzinfo=None)] * 2, USER]
ROWS: list[tuple[str, list[Any]]] = [
    (json.dumps(FITS), GIVES),
    (json.dumps({name: str(value) for name, value in FITS.items() if name != "ok"}),
     [1, None, *GIVES[2:4], None, *GIVES[5:9], str(USER)]),
    (json.dumps({"id": 1.5, "price": 1.005, "score": "x", "ok": "yes", "day": 9, "at": 12, "sent": 10**15}),
     [None] * 10),
    ('{"id": 99999999999999999999, "at": "2026-11-26T10:00:00", "day": "2026-02-30", "user": {"address": 1}}',
     [*[None] * 9, {"address": 1}]),
    ('{"id": null, "user": null}', [None] * 10),
    ("[1]", [None] * 10),
    ("no json", [None] * 10),
    ("{}", [None] * 10),
]  # fmt: skip
"""Texts, each with what its typed columns hold: of what does not fit, is not there or is null, null."""


def test_typed_columns_stand_beside_the_text_and_another_path_is_drift_until_the_next_publication(
    connections: Connections, fresh_name: str
) -> None:
    make_one = topic_maker(connections, fresh_name, "landing_tests")
    topic = make_one(
        trades=False, key_format="none", value_format="string", on_null_value="keep", typed={"value": TYPED}
    )
    topic.send([None, *(text.encode() for text, _ in ROWS)])
    land(topic.spec, connections)
    sync_glue(connections, topic.things)
    Snowflake(topic.spec, connections.settings).sync(connections)
    first = shown(topic.spec, connections)
    others = [*TYPED[:-1], {"name": "who", "type": "json", "path": "user.address"}]
    given = topic.spec.model_dump(include=topic.spec.model_fields_set)
    moved = TableSpec(**{**given, "typed": {"value": others}})

    at_rest = [each.state for each in find_drift([topic.spec], connections)]
    drifts = find_drift([moved], connections)
    repair_drift(moved, drifts, connections)
    repaired = [each.state for each in find_drift([moved], connections)]
    moved_rows = shown(moved, connections)
    Snowflake(topic.spec.model_copy(update={"typed": {}}), connections.settings).sync(connections)
    view = Snowflake(moved, connections.settings).relations[1]
    with connections.snowflake() as session:
        left = [column.name.lower() for column in session.cursor().describe(f"select * from {view}")]

    expected: dict[str | None, list[Any]] = {None: [None] * 10, **dict(ROWS)}
    assert first == expected
    assert at_rest == repaired == ["in step", "in step"]
    why = f"view {view.rpartition('.')[2]} is another query and should be the spec's query"
    assert [each.why for each in drifts] == ["", why]
    moved_values = {text: row[-1] for text, row in moved_rows.items() if row[-1] is not None}
    assert moved_values == {ROWS[0][0]: USER["address"], ROWS[3][0]: 1}
    assert left == ["value"]


def shown(spec: TableSpec, connections: Connections) -> dict[str | None, list[Any]]:
    """The typed columns that the view has, by the text beside them."""
    listed = ", ".join((*NAMES, "value"))
    view = Snowflake(spec, connections.settings).relations[1]
    with connections.snowflake() as session:
        rows = session.cursor().execute(f"select {listed} from {view}").fetchall()
    return {text: [*values, _read(who)] for *values, who, text in rows}


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)
