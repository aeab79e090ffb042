"""Repaired dead letters land once, whoever redrives them twice, and everything still adds up."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from frazil.checks.run import run_check
from frazil.errors import ConfigureError, OvertakenError, SuspendedError
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.redrive import redrive
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic
from kit.runs.waiting import PATIENCE
from kit.wires import killed

"""Where it makes no difference who owns the table."""

CUT = 3
"""Dead letters of the topic: its offsets 1, 3 and 5 lack their last byte."""


def trade(topic: Topic, quantity: int) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"})


@pytest.fixture
def letters(make_topic: MakeTopic) -> Topic:
    """A landed topic of seven records, three of which are dead letters."""
    topic = make_topic(on_bad_record="dead_letter", metadata="full")
    values = [trade(topic, n) for n in range(7)]
    cut = [v[:-1] if n in (1, 3, 5) else v for n, v in enumerate(values)]
    topic.send(cut, headers=[("h", b"1")])
    land(topic.spec, topic.connections)
    return topic


def mended(letter: DeadLetter) -> bytes:
    assert letter.raw_value
    return letter.raw_value + b"Z"


def mended_but_3(letter: DeadLetter) -> DeadLetter | None:
    return None if letter.offset == 3 else replace(letter, raw_value=mended(letter))


def assert_all_adds_up(topic: Topic) -> None:
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def offsets(topic: Topic) -> list[int]:
    return [r["$$offset"] for r in topic.rows()]


def test_repaired_dead_letters_become_the_rows_that_they_should_have_been(letters: Topic) -> None:
    report = redrive(letters.spec, letters.connections, repair=mended)
    again = redrive(letters.spec, letters.connections, repair=mended)

    assert (report.chosen, report.redriven, report.already_in) == (3, 3, 0)
    assert (again.chosen, again.redriven, again.already_in, again.snapshot_id) == (3, 0, 3, None)
    rows = letters.rows()
    assert [r["$$offset"] for r in rows] == list(range(7))
    assert [r["quantity"] for r in rows] == list(range(7))
    for name in ("$$topic", "$$headers", "$$timestamp-type", "$$leader-epoch", "$$raw-key", "key"):
        assert rows[1][name] == rows[0][name]
    assert abs((rows[1]["$$timestamp"] - rows[0]["$$timestamp"]).total_seconds()) < 60
    assert_all_adds_up(letters)
    letters.trades(2)
    assert land(letters.spec, letters.connections).records == 2
    assert_all_adds_up(letters)


@pytest.mark.nightly
def test_what_still_does_not_decode_stays_a_dead_letter_and_is_told(letters: Topic) -> None:
    as_they_are = redrive(letters.spec, letters.connections)
    some = redrive(letters.spec, letters.connections, repair=mended_but_3)
    rest = redrive(letters.spec, letters.connections, repair=lambda _: b"bad")
    others = redrive(letters.spec, letters.connections, where="reason_code = 'truncated' and offset > 3")

    assert (as_they_are.redriven, dict(as_they_are.still_bad)) == (0, {"truncated": 3})
    assert as_they_are.reasons[0] == "partition 0, offset 1: the payload ends early"
    assert (some.redriven, some.left_out) == (2, 1)
    assert (rest.redriven, rest.already_in, dict(rest.still_bad)) == (0, 2, {"too_short": 1})
    assert (others.chosen, others.already_in) == (1, 1)
    assert offsets(letters) == [0, 1, 2, 4, 5, 6]
    assert_all_adds_up(letters)


@pytest.mark.nightly
def test_a_record_whose_schema_is_known_by_now_needs_no_repair(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.send([trade(topic, 1)])
    old = topic.schema
    newer = {
        **old,
        "fields": [*old["fields"], {"name": "venue", "type": ["null", "string"], "default": None}],
    }
    elsewhere = topic.register_for(f"{topic.name}-other", newer)
    topic.schema = newer
    topic.send([topic.encode({"side": "BUY", "quantity": 2, "symbol": "Z", "venue": "X"}, elsewhere)])
    topic.schema = old
    landed = land(topic.spec, topic.connections)
    assert topic.register(newer) == elsewhere

    report = redrive(topic.spec, topic.connections, where="reason_code = 'schema_id'")

    assert (landed.records, landed.dead_letters, report.redriven) == (1, 1, 1)
    assert [(r["quantity"], r["venue"]) for r in topic.rows()] == [(1, None), (2, "X")]
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_landing_in_between_changes_nothing_and_stays_suspended_if_it_was(letters: Topic) -> None:
    letters.trades(2)
    letters.send([b"bad"])
    suspending = letters.spec.model_copy(update={"on_bad_record": "suspend"})

    def land_first(step: str) -> None:
        if step == "audited":
            with pytest.raises(SuspendedError, match=f"offset {9 + 2 * BESIDE}"):
                land(suspending, letters.connections)

    report = redrive(letters.spec, letters.connections, repair=mended, on_step=land_first)

    assert report.redriven == CUT
    assert offsets(letters) == [*range(7), 7 + BESIDE, 8 + BESIDE]
    state = table_states([letters.spec], letters.connections)[0]
    assert (state.state, state.lag, state.dead_letters) == ("suspended", 1 + BESIDE, 0)
    assert_all_adds_up(letters)


@pytest.mark.nightly
def test_a_redrive_in_between_does_not_overtake_a_landing(letters: Topic) -> None:
    letters.trades(2)

    def redrive_first(step: str) -> None:
        if step == "audited":
            redrive(letters.spec, letters.connections, repair=mended)

    report = land(letters.spec, letters.connections, on_step=redrive_first)

    assert report.records == 2
    assert offsets(letters) == [*range(7), 7 + BESIDE, 8 + BESIDE]
    assert_all_adds_up(letters)


@pytest.mark.nightly
def test_of_two_redrives_at_once_one_is_dropped(letters: Topic) -> None:
    def overtake(step: str) -> None:
        if step == "audited":
            redrive(letters.spec, letters.connections, where="offset = 5", repair=mended)

    with pytest.raises(OvertakenError, match="Another redrive"):
        redrive(letters.spec, letters.connections, repair=mended, on_step=overtake)

    assert offsets(letters) == [0, 2, 4, 5, 6]
    assert_all_adds_up(letters)


@pytest.mark.nightly
def test_a_redrive_killed_at_any_point_leaves_nothing_or_everything(letters: Topic) -> None:
    for step in ("audited", "published"):
        process = killed.redrive_process(letters.name, letters.connections.settings, step)
        assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()
        assert len(offsets(letters)) == (7 if step == "published" else 4)
        assert_all_adds_up(letters)

    assert redrive(letters.spec, letters.connections, repair=mended).already_in == CUT


def test_a_table_without_dead_letters_has_nothing_to_redrive(topic: Topic) -> None:
    assert redrive(topic.spec, topic.connections).chosen == 0


def test_a_filter_that_is_none_is_told_and_nothing_is_redriven(letters: Topic) -> None:
    for where, words in (
        ("reason =", "not understood from 'reason ='"),
        ("why = 'a'", "Could not find field"),
        ("offset > 'x'", "x"),
    ):
        with pytest.raises(ConfigureError, match="is no filter") as error:
            redrive(letters.spec, letters.connections, where=where)
        assert words in error.value.where
    assert offsets(letters) == [0, 2, 4, 6]
