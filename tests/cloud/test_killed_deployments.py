"""Whoever is killed while it deploys leaves nothing twice and nothing behind, whatever the clouds do."""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from frazil_cloud.graph import THREADS
from kit.clouds.cloud_confluent import QUICK
from kit.clouds.three_clouds import LAB, ThreeClouds, three_clouds, write_deployment
from kit.deployments.deploying import Deploying, deploying

KILLS = int(os.environ.get("FRAZIL_TEST_KILLS", "2"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "14"))


_ID = re.compile(r"-[0-9a-f]{6}\b")
"""What is drawn anew for each environment and cluster."""


@pytest.fixture(scope="module")
def clouds(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeClouds]:
    with three_clouds(tmp_path_factory.mktemp("clouds")) as clouds:
        yield clouds


@pytest.fixture
def frazil(clouds: ThreeClouds, tmp_path: Path) -> Iterator[Deploying]:
    """Whoever deploys, in a folder of its own."""
    environment = {**clouds.administrator, "FRAZIL_DEPLOYMENTS": str(write_deployment(tmp_path, LAB))}
    with deploying(
        {**environment, "FRAZIL_HOME": str(tmp_path / "home")}, tmp_path / "complaints.log"
    ) as process:
        yield process


def kinds(clouds: ThreeClouds) -> Counter[str]:
    """How many things of each kind are there, whatever their ids are."""
    return Counter(_ID.sub("", thing.rpartition(" ")[0]) for thing in clouds.everything())


@contextmanager
def failing(clouds: ThreeClouds) -> Iterator[None]:
    """A third of all answers is lost after the deed, and one call of 17 is refused as too many."""
    clouds.confluent.delay(
        prove_again=3600.0
    )  # all others wait for it while it asks an AWS that loses answers
    for cloud in (clouds.aws, clouds.confluent, clouds.snowflake):
        cloud.turn(lose_every=3, throttle_every=17)
    yield
    for cloud in (clouds.aws, clouds.confluent, clouds.snowflake):
        cloud.turn()


@pytest.mark.nightly
def test_runs_that_are_killed_make_nothing_twice_and_leave_nothing(
    clouds: ThreeClouds, frazil: Deploying, tmp_path: Path
) -> None:
    before = clouds.everything()
    assert frazil.run("create") == 0
    undisturbed = kinds(clouds)
    assert frazil.run("delete") == 0
    assert clouds.everything() == before

    chance = random.Random(SEED)
    with failing(clouds):
        made = frazil.killed("create", KILLS, chance)
    assert kinds(clouds) == undisturbed
    secrets = clouds.secrets()
    with failing(clouds):
        removed = frazil.killed("delete", KILLS, chance)
    print(f"seed {SEED}: {made} and {removed} runs were killed, after deeds and in waits")

    assert clouds.everything() == before
    assert sum(made) + sum(removed) > KILLS
    assert made[1] > 0
    assert len(secrets) > 6
    written = [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    assert [secret for secret in secrets if any(secret in text for text in written)] == []


@pytest.mark.nightly
def test_a_killed_run_was_really_in_the_middle(clouds: ThreeClouds, frazil: Deploying) -> None:
    before = clouds.everything()
    # More than begin at once: those before it ended, and none of them undid another.
    assert frazil.run("create", after_deeds=THREADS + 1) == -signal.SIGKILL
    assert clouds.everything() != before
    assert frazil.run("delete") == 0
    assert clouds.everything() == before


@pytest.mark.parametrize("made", [(3,), (3, 6)], ids=["once", "again and again"])
@pytest.mark.nightly
def test_a_run_that_is_killed_while_it_waits_goes_on(
    clouds: ThreeClouds, frazil: Deploying, made: tuple[int, ...]
) -> None:
    before = clouds.everything()
    clouds.confluent.delay(provision=1.0)
    for wait in made:
        assert frazil.run("create", in_wait=wait) == -signal.SIGKILL
        assert clouds.everything() != before
    clouds.confluent.delay(**QUICK)
    assert frazil.run("create") == 0
    once = [
        path
        for path, ids in clouds.confluent.inventory().items()
        if path.endswith("/clusters") and len(ids) > 1
    ]
    assert once == []
    if len(made) > 1:
        clouds.confluent.delay(provision=1.0)
        assert frazil.run("delete", in_wait=1) == -signal.SIGKILL
        clouds.confluent.delay(**QUICK)
    assert frazil.run("delete") == 0
    assert clouds.everything() == before
