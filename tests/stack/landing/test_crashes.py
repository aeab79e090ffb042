"""Whatever process is killed, or sleeps, when: every record is in the table exactly once."""

from __future__ import annotations

import signal
import subprocess
import time

import psutil
import pytest

from frazil.checks.run import run_check
from frazil.errors import OvertakenError
from frazil.landing.land import land
from frazil.upkeep.orphans import remove_orphans
from kit.readers.leftovers import MONTH, unnamed
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic
from kit.runs.waiting import PATIENCE, wait_for
from kit.wires import killed

pytestmark = [
    pytest.mark.also("glue", why="its commit is another one, and its lock", nightly=True),
]

STEPS = ("planned", "written", "audited", "published")


def landing_process(topic: Topic, step: str = "never") -> subprocess.Popen[str]:
    return killed.landing_process(topic.name, topic.connections.settings, step)


@pytest.mark.each_time("rest-published")
@pytest.mark.parametrize("step", STEPS)
def test_a_landing_killed_after_any_step_leaves_nothing_or_everything(
    make_topic: MakeTopic, step: str
) -> None:
    topic = make_topic(partitions=2, on_bad_record="dead_letter")
    topic.trades(20, partition=0)
    topic.send([b"bad"], partition=0)
    topic.trades(20, partition=1)
    process = landing_process(topic, step)
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    again = land(topic.spec, topic.connections)
    more = land(topic.spec, topic.connections)

    assert again.records == (0 if step == "published" else 40)
    assert more.records == 0
    assert sorted(r["quantity"] for r in topic.rows()) == list(range(40))
    letters = topic.connections.catalog.load_table(("landing_tests", f"{topic.name}__dead_letters"))
    assert [r["offset"] for r in letters.scan().to_arrow().to_pylist()] == [20 + BESIDE]
    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    topic.trades(1)
    land(topic.spec, topic.connections)
    assert [ref for ref in table.refresh().metadata.refs if ref != "main"] == []
    assert run_check("row_count", topic.spec, topic.connections).passed
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_of_two_landings_at_once_one_publishes_and_the_other_says_it_was_overtaken(topic: Topic) -> None:
    topic.trades(30)
    land(topic.spec, topic.connections)
    topic.trades(30)

    def overtake(step: str) -> None:
        if step == "audited":
            other = landing_process(topic)
            out, err = other.communicate(timeout=PATIENCE)
            assert (other.returncode, out.strip()) == (0, "30"), err

    with pytest.raises(OvertakenError, match="was quicker"):
        land(topic.spec, topic.connections, on_step=overtake)
    assert sorted(r["quantity"] for r in topic.rows()) == list(range(60))
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_landing_that_slept_for_hours_past_a_competitor_is_refused_and_leaves_nothing(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.trades(30)
    land(topic.spec, topic.connections)
    topic.trades(30)
    zombie = killed.sleeping_process(topic.name, topic.connections.settings, "audited")
    wait_for(lambda: psutil.Process(zombie.pid).status() == psutil.STATUS_STOPPED)
    killed.hours_later(monkeypatch)

    competitor = land(topic.spec, topic.connections)
    zombie.send_signal(signal.SIGCONT)
    _, err = zombie.communicate(timeout=PATIENCE)
    remove_orphans(topic.spec, topic.connections, time.time() + MONTH)

    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    assert (competitor.records, zombie.returncode) == (30, 1)
    assert "is visible" in err, err
    assert sorted(r["quantity"] for r in topic.rows()) == list(range(60))
    assert (list(table.metadata.refs), unnamed(table)) == (["main"], set())
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_two_processes_that_land_at_once_double_nothing(topic: Topic) -> None:
    topic.trades(40)
    both = [landing_process(topic), landing_process(topic)]
    outputs = [p.communicate(timeout=PATIENCE) for p in both]

    codes = [p.returncode for p in both]
    assert 0 in codes, outputs
    lost = [err for p, (_, err) in zip(both, outputs, strict=True) if p.returncode]
    assert all("was quicker" in err for err in lost), lost
    land(topic.spec, topic.connections)
    assert sorted(r["quantity"] for r in topic.rows()) == list(range(40))


@pytest.mark.each_time("rest-planned")
@pytest.mark.parametrize("step", ["planned", "written"])
def test_a_landing_that_others_overtook_says_so(topic: Topic, step: str) -> None:
    topic.trades(5)

    def another(done: str) -> None:
        if done == step:
            land(topic.spec, topic.connections)

    with pytest.raises(OvertakenError, match="was quicker"):
        land(topic.spec, topic.connections, on_step=another)
    assert [r["quantity"] for r in topic.rows()] == list(range(5))
    assert list(topic.connections.catalog.load_table(topic.things.table.identifier).metadata.refs) == ["main"]
