"""One alarm per cause and not per look; one when it is over; whoever could not be told is told later."""

from __future__ import annotations

import pytest

from frazil.alarms.journal import REPEAT_AFTER, Cause, Journal, Subject, without_echoes

COUNT = Subject("check", "row_count", "local.a")
STEP = Subject("run", "landing", "local.a")
WRONG = Cause("row_count", "7 rows, 8 expected.")
LOST = Cause("OffsetsLostError", "Records are gone.")


def heard(journal: Journal, now: float, channel: str = "webhook") -> list[tuple[str, Subject]]:
    """What a channel hears that answers; the journal is stored and read again before."""
    alarms = journal.owed(channel, now)
    journal.note(channel, alarms, now)
    journal.forget([channel])
    journal.entries = Journal.model_validate_json(journal.model_dump_json()).entries
    return [(alarm.word, alarm.subject) for alarm in alarms]


def test_a_cause_is_told_once_and_its_end_once() -> None:
    journal, heard_of = Journal(), []

    for now, cause in enumerate([WRONG, WRONG, None, None]):
        journal.judge({COUNT: cause}, now)
        heard_of.append(heard(journal, now))

    assert heard_of == [[("new", COUNT)], [], [("over", COUNT)], []]
    assert journal.entries == []


def test_a_warning_that_becomes_an_error_is_told_again_with_the_time_at_which_it_began() -> None:
    journal, heard_of = Journal(), []
    warning, error = Cause("glue_fresh", "3 min", "WARN"), Cause("glue_fresh", "16 min", "ERROR")

    for now, cause in enumerate([warning, error, error, warning, None]):
        journal.judge({COUNT: cause}, now)
        heard_of.append(
            [(alarm.word, alarm.cause.severity, alarm.since) for alarm in journal.owed("mail", now)]
        )
        heard(journal, now, "mail")

    assert heard_of == [[("new", "WARN", 0)], [("new", "ERROR", 0)], [], [], [("over", "ERROR", 0)]]


def test_a_cause_that_stays_is_told_again_after_a_day() -> None:
    journal, heard_of = Journal(), []

    for now in (0, REPEAT_AFTER - 1, REPEAT_AFTER, REPEAT_AFTER + 1):
        journal.judge({COUNT: WRONG}, now)
        heard_of.append(heard(journal, now))

    assert heard_of == [[("new", COUNT)], [], [("still", COUNT)], []]


def test_a_cause_that_comes_back_is_told_again() -> None:
    journal, heard_of = Journal(), []

    for now, cause in enumerate([WRONG, None, WRONG]):
        journal.judge({COUNT: cause}, now)
        heard_of += heard(journal, now)

    assert [word for word, _ in heard_of] == ["new", "over", "new"]


def test_another_error_of_the_same_step_is_another_cause() -> None:
    journal = Journal()
    journal.judge({STEP: LOST}, 0)
    heard(journal, 0)

    journal.judge({STEP: Cause("SuspendedError", "A record can't be decoded.")}, 1)

    assert heard(journal, 1) == [("new", STEP)]


def test_what_is_not_judged_stays_as_it_was() -> None:
    journal = Journal()
    journal.judge({COUNT: WRONG}, 0)
    heard(journal, 0)

    journal.judge({}, 1)

    assert heard(journal, 1) == []
    assert [entry.subject for entry in journal.entries] == [COUNT]


def test_what_a_channel_missed_it_hears_later_and_the_others_do_not_hear_twice() -> None:
    journal = Journal()
    journal.judge({COUNT: WRONG}, 0)
    heard(journal, 0, "mail")

    journal.judge({COUNT: WRONG}, 1)

    assert heard(journal, 1, "mail") == []
    assert heard(journal, 1, "webhook") == [("new", COUNT)]


def test_what_came_and_went_while_a_channel_was_down_is_told_as_over() -> None:
    journal = Journal()
    journal.judge({COUNT: WRONG}, 0)
    journal.judge({COUNT: None}, 1)

    assert heard(journal, 2) == [("over", COUNT)]
    assert journal.entries == []


def test_a_long_text_is_cut_in_the_journal() -> None:
    journal = Journal()

    journal.judge({COUNT: Cause("row_count", "x" * 10_000)}, 0)

    assert len(journal.owed("webhook", 0)[0].cause.text) == 500


KAFKA = Subject("part", "kafka")
FRESH = Subject("check", "freshness", "local.a")
DOWN = Cause("PartDownError", "Kafka does not answer.")


@pytest.mark.parametrize(
    ("findings", "left"),
    [
        ({KAFKA: DOWN, STEP: DOWN}, {KAFKA}),
        ({KAFKA: None, STEP: DOWN}, {KAFKA, STEP}),
        ({KAFKA: DOWN, STEP: LOST}, {KAFKA, STEP}),
        ({FRESH: Cause("freshness", "Stopped.", "ERROR"), STEP: LOST}, {FRESH}),
        ({FRESH: Cause("freshness", "Late.", "WARN"), STEP: LOST}, {FRESH, STEP}),
    ],
    ids=["part down", "part up again", "part down, other error", "table stopped", "table late"],
)
def test_a_run_that_fails_for_a_cause_that_is_told_is_no_second_alarm(
    findings: dict[Subject, Cause | None], left: set[Subject]
) -> None:
    assert set(without_echoes(findings)) == left


def test_a_run_that_ends_behind_an_outage_that_it_waited_for_is_no_second_alarm() -> None:
    """Each look takes in once more what ended within a minute before it, and a run gives Kafka up late."""
    journal, heard_of = Journal(), []

    for now, kafka in ((0.0, DOWN), (30.0, None), (60.0, None), (400.0, None)):
        findings = {KAFKA: kafka, STEP: DOWN}
        journal.judge(without_echoes(findings, was_down=journal.was_down(now)), now)
        heard_of.append(heard(journal, now))

    assert heard_of == [[("new", KAFKA)], [("over", KAFKA)], [], [("new", STEP)]]


def test_a_text_that_is_no_unicode_does_not_stop_the_journal() -> None:
    journal = Journal()

    journal.judge({COUNT: Cause("row_count", "key \ud800")}, 0)

    assert heard(journal, 0) == [("new", COUNT)]
