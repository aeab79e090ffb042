"""A suspended table goes on as its owner says, past the records that are given up."""

from __future__ import annotations

import pytest

from frazil.checks.run import run_check
from frazil.errors import ConfigureError, FrazilError, SuspendedError
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic


@pytest.fixture
def suspended(make_topic: MakeTopic) -> Topic:
    """Good records, bad ones at 0:1, 0:3 and 1:0; suspended at the first of each partition."""
    topic = make_topic(partitions=2)
    good = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    topic.send([good, good[:-1], good, b"bad", good], partition=0)
    topic.send([b"bad", good], partition=1)
    with pytest.raises(SuspendedError, match="--past 0:1 --past 1:0"):
        land(topic.spec, topic.connections)
    return topic


def records(topic: Topic) -> list[tuple[int, int]]:
    return [(r["$$partition"], r["$$offset"]) for r in topic.rows()]


def state(topic: Topic) -> str:
    return table_states([topic.spec], topic.connections)[0].state


@pytest.mark.nightly
def test_records_that_are_named_are_left_out_and_counted_and_the_rest_is_landed(suspended: Topic) -> None:
    with pytest.raises(SuspendedError, match="partition 0, offset 3") as again:
        resume(suspended.spec, suspended.connections, past=[(0, 1), (1, 0)])
    halfway = (state(suspended), records(suspended))
    report = resume(suspended.spec, suspended.connections, past=[(0, 3)])

    assert "partition 1" not in again.value.where
    assert halfway == ("suspended", [(0, 0), (0, 2), (1, 1)])
    assert (report.records, report.skipped) == (1, 1)
    assert records(suspended) == [(0, 0), (0, 2), (0, 4), (1, 1)]
    assert state(suspended) == "current"
    for check in ("row_count", "row_count_deep"):
        assert run_check(check, suspended.spec, suspended.connections).passed


def test_a_bad_record_that_the_topic_no_longer_holds_does_not_wait(suspended: Topic) -> None:
    suspended.delete_records_before(3)

    with pytest.raises(ConfigureError, match=r"0:1 .* does not wait[\s\S]*0: \[3, 10\)"):
        resume(suspended.spec, suspended.connections, past=[(0, 1)])


def test_only_a_bad_record_that_waits_can_be_left_out_and_only_by_name(suspended: Topic) -> None:
    for past in ((0, 0), (0, 5 + BESIDE), (2, 0)):
        with pytest.raises(ConfigureError, match=f"{past[0]}:{past[1]} .* does not wait"):
            resume(suspended.spec, suspended.connections, past=[past])
    keeping = suspended.spec.model_copy(update={"on_bad_record": "dead_letter"})
    with pytest.raises(ConfigureError, match="stops at no bad record"):
        resume(keeping, suspended.connections, past=[(0, 1)])
    assert (state(suspended), records(suspended)) == ("suspended", [(0, 0)])

    with pytest.raises(SuspendedError, match="offset 1"):
        resume(suspended.spec, suspended.connections)
    assert (state(suspended), records(suspended)) == ("suspended", [(0, 0)])

    report = resume(suspended.spec, suspended.connections, past=[(0, 1), (0, 2), (0, 3), (1, 0), (1, 1)])

    assert (report.records, report.skipped) == (3, 3)
    assert resume(suspended.spec, suspended.connections).records == 0
    assert records(suspended) == [(0, 0), (0, 2), (0, 4), (1, 1)]


@pytest.mark.nightly
@pytest.mark.parametrize("first", [0, 1], ids=["at once", "after a good record"])
def test_a_slow_landing_does_not_suspend_a_table_that_was_resumed_meanwhile(
    make_topic: MakeTopic, first: int
) -> None:
    topic = make_topic()
    good = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    topic.send([*[good] * first, b"bad", good])

    def resume_meanwhile(done: str) -> None:
        if done == ("published" if first else "written"):
            resume(topic.spec, topic.connections, past=[(0, first)])

    with pytest.raises(FrazilError):
        land(topic.spec, topic.connections, on_step=resume_meanwhile)

    assert state(topic) == "current"
    assert records(topic) == [*[(0, n) for n in range(first)], (0, first + 1)]
