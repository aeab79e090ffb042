"""How far each layer may be behind the one before it: what its check says, and what nobody knows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError

from frazil.checks.layers.ages import age_of_state, target_age
from frazil.checks.layers.judge import severity_of
from frazil.checks.result import CheckResult
from frazil.checks.run import checks_of, run_check
from frazil.checks.targets.finding import find_drift
from frazil.derive.positions.state import DerivedState
from frazil.errors import PartDownError
from frazil.landing.position.state import State, TableState
from frazil.publishing.glue import Glue
from frazil.settings.profile import Settings
from frazil.spec.freshness import Allowed
from frazil.spec.topic import TableSpec
from kit.readers.mirrored import NAME, Mirror, Standing
from kit.wires.wire import Wire

LIMITS = {"glue": {"warn": "1s", "error": "1h"}}


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Two rows, which Glue shows, and which it may lack for a second."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"], fresh_within=LIMITS)
    return standing.shown(spec, 2)


def fresh(mirror: Mirror, **limits: str) -> CheckResult:
    """The check, with other limits."""
    allowed = Allowed.model_validate(limits or LIMITS["glue"])
    spec = mirror.spec.model_copy(update={"fresh_within": {"glue": allowed}})
    return run_check("glue_fresh", spec, mirror.connections)


def age(mirror: Mirror, later: float = 0.0) -> float | None:
    """How far Glue is behind, so many seconds from now."""
    target = Glue(mirror.spec, mirror.connections.settings)
    return target_age(target, mirror.spec, mirror.connections, time.time() + later).seconds


def test_a_limit_is_a_duration_or_says_when_it_warns_and_when_it_fails() -> None:
    limits = {"iceberg": "1m", "glue": {"error": "2m"}, "snowflake": {"warn": "5m", "error": "1h"}}
    spec = TableSpec(topic="t", fresh_within=limits)

    parsed = {
        layer: [severity_of(allowed, seconds) for seconds in (60, 61, 121, 301, 3601)]
        for layer, allowed in spec.fresh_within.items()
    }

    assert parsed == {
        "iceberg": [None, "WARN", "WARN", "WARN", "WARN"],
        "glue": [None, None, "ERROR", "ERROR", "ERROR"],
        "snowflake": [None, None, None, "WARN", "ERROR"],
    }


@pytest.mark.parametrize(
    ("limits", "publish", "expected"),
    [
        ({"glue": "1m"}, [], "no layer 'glue'; it has iceberg"),
        ({"snowflake": "1m"}, ["glue"], "no layer 'snowflake'; it has iceberg, glue"),
        ({"iceberg": "soon"}, [], "write a number and s, m, h or d"),
        ({"iceberg": {"warn": "2m", "error": "1m"}}, [], "warn is later than error"),
        ({"iceberg": {}}, [], "write warn, error, or both"),
    ],
)
def test_a_limit_that_nothing_could_keep_is_refused(limits: Any, publish: list[str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        TableSpec(topic="t", publish=publish, fresh_within=limits)


def test_a_table_has_the_checks_that_its_limits_ask_for() -> None:
    spec = TableSpec(topic="t", fresh_within={"iceberg": "1m", "snowflake": "5m"})
    checks = checks_of(spec, Settings())

    own = {name: check.asset[0] for name, check in checks.items() if name.endswith("_fresh")}

    assert own == {"iceberg_fresh": "iceberg", "snowflake_fresh": "snowflake"}
    assert not any(checks[name].blocking or checks[name].deep for name in own)
    assert "iceberg_fresh" not in checks_of(TableSpec(topic="t"), Settings())


def test_a_quiet_table_is_fresh_for_ever(mirror: Mirror) -> None:
    assert age(mirror, 30 * 86400.0) == 0.0
    assert fresh(mirror, warn="0s").passed


def test_a_target_is_as_late_as_the_first_commit_that_it_lacks(mirror: Mirror) -> None:
    mirror.land()
    first = mirror.table.current_snapshot().timestamp_ms / 1000  # type: ignore[union-attr]
    mirror.land()

    late = fresh(mirror, warn="0s", error="1h")

    behind = age(mirror, 60)
    assert behind is not None
    assert behind == pytest.approx(time.time() + 60 - first, abs=5)
    assert (late.status, late.severity) == ("failed", "WARN")
    assert "warning after 0 s, error after 3,600 s" in late.text
    assert "frazil drift unit.orders" in late.text
    (why,) = find_drift([mirror.spec], mirror.connections)
    assert (why.target, why.differs, why.since) == ("glue", True, first)
    assert fresh(mirror, error="0s").severity == "ERROR"


def test_upkeep_makes_no_target_late(mirror: Mirror) -> None:
    with mirror.table.transaction() as tx:
        tx.set_properties({"note": "by upkeep"})

    assert age(mirror, 3600) == 0.0


def test_a_target_that_has_no_such_table_is_as_late_as_its_first_rows(mirror: Mirror) -> None:
    mirror.connections.glue.delete_table(DatabaseName=mirror.folder.name, Name=NAME.table)

    missing = fresh(mirror, warn="0s")

    assert missing.failed
    assert "Glue has no" in missing.text


def test_a_glue_that_does_not_answer_is_not_known_and_never_fresh(mirror: Mirror, wire: Wire) -> None:
    wire.always("unsent", lambda asked: True)

    with pytest.raises(PartDownError):
        fresh(mirror)


def test_an_entry_of_another_engine_is_not_known(mirror: Mirror) -> None:
    glue: Any = mirror.connections.glue
    entry = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    parameters = {**entry["Parameters"], "metadata_location": "s3://elsewhere/metadata/00001.metadata.json"}
    wanted = {"Name": entry["Name"], "TableType": entry["TableType"], "Parameters": parameters}
    glue.update_table(DatabaseName=mirror.folder.name, TableInput=wanted)

    assert fresh(mirror).status == "skipped"


@pytest.mark.parametrize(
    ("word", "lag", "freshness", "seconds"),
    [
        ("current", 0, 0.0, 0.0), ("behind", 5, 12.5, 12.5), ("new", 0, None, 0.0), ("new", 5, None, None),
        ("unknown", 0, 0.0, None), ("topic missing", 0, 0.0, None), ("paused", 5, 12.5, None),
    ],
)  # fmt: skip
def test_a_table_that_nobody_can_ask_for_is_not_known(
    word: State, lag: int, freshness: float | None, seconds: float | None
) -> None:
    state = TableState("local.t", "t", "append", 1, 1, 1, 1, {0: 1}, lag, freshness, word)

    assert age_of_state(state).seconds == seconds


def test_a_derived_table_is_as_late_as_the_first_row_that_waits() -> None:
    state = DerivedState(
        "local.d", "rows", (), 1, rows=1, files=1, bytes=1, lag=2, freshness=9.0, state="behind"
    )

    assert age_of_state(state).seconds == 9.0
