"""`frazil deploy` as people and scripts meet it; the clouds are a dictionary here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from frazil.settings.profile import Settings
from frazil_cloud import deployment
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.dictionary_cloud import Cloud, Thing
from kit.runs.shell import Output

Deploy = Callable[..., Output]


def test_a_plan_is_shown_like_a_diff_and_does_nothing(deploy: Deploy, cloud: Cloud) -> None:
    result = deploy("plan", "shop")

    assert result.code == 0
    assert "+ aws/role (after aws/bucket, confluent/topic/trades)" in result.err
    assert "3 to make. Plan " in result.err
    assert cloud.done == []


def test_scripts_get_the_plan_as_one_document(deploy: Deploy) -> None:
    document = deploy("plan", "--json").document

    assert [(step["address"], step["action"]) for step in document["steps"]][-1] == ("aws/role", "create")
    assert len(document["digest"]) == 12


def test_create_makes_everything_and_tells_how_long_each_took(deploy: Deploy, cloud: Cloud) -> None:
    result = deploy("create", "shop", "--yes")

    assert result.code == 0, result.err
    assert cloud.names() == ["aws/bucket", "aws/role", "confluent/topic/trades"]
    assert "aws/role: ready, " in result.err
    assert 'eval "$(frazil env --deployment shop)"' in result.err
    assert "Everything is as it should be." in deploy("plan").err


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_waited_for_is_told_on_stderr_in_the_form_that_is_asked_for(
    deploy: Deploy, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    monkeypatch.setattr("frazil_cloud.patience.SAID_EVERY", 0.1)
    cloud.late = 0.5

    result = deploy("create", "shop", "--yes", *(["--json"] if as_json else []))

    lines = [line for line in result.err.splitlines() if "it was made, but is not seen yet" in line]
    assert lines, result.err
    if as_json:
        waits = [json.loads(line) for line in lines]
        assert {each["waiting"] for each in waits} <= {"aws/role", "aws/bucket", "confluent/topic/trades"}
        assert waits[0].keys() == {"waiting", "for", "since", "seconds_left"}
    else:
        assert " waits since " in lines[0]


def test_where_nobody_can_be_asked_it_takes_a_yes(deploy: Deploy, cloud: Cloud) -> None:
    result = deploy("create", "shop")

    assert result.code == 85
    assert "give --yes" in result.err
    assert cloud.done == []


def test_a_plan_that_was_agreed_to_is_done(deploy: Deploy, cloud: Cloud) -> None:
    digest = deploy("plan", "--json").document["digest"]

    assert deploy("create", "--plan", digest).code == 0
    assert len(cloud.objects) == 3


def test_a_stale_plan_is_refused(deploy: Deploy, cloud: Cloud) -> None:
    digest = deploy("plan", "--json").document["digest"]
    cloud.add("aws/bucket", {"public": False})
    before = list(cloud.done)

    result = deploy("create", "--plan", digest)

    assert result.code == 4
    assert f"The clouds changed since plan {digest}." in result.err
    assert result.is_clear
    assert cloud.done == before


def test_a_yes_is_good_for_what_the_clouds_became_meanwhile(
    deploy: Deploy, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, topic, looks = cloud.seen, "confluent/topic/trades", count()

    def seen_at_the_second_look(name: str) -> dict[str, object] | None:
        if name == topic and next(looks) == 1:
            cloud.add(topic, {})
        return seen(name)

    monkeypatch.setattr(cloud, "seen", seen_at_the_second_look)
    result = deploy("create", "--yes")

    assert result.code == 0, result.err
    assert ("3 to make." in result.err, "2 to make." in result.err) == (True, True)
    assert cloud.names() == ["aws/bucket", "aws/role", topic]


def test_drift_names_what_differs(deploy: Deploy, cloud: Cloud) -> None:
    deploy("create", "--yes")
    assert deploy("drift").code == 0
    cloud.change("aws/bucket", {"public": True})

    result = deploy("drift")

    assert result.code == 3
    assert "~ aws/bucket" in result.err
    assert "public: true -> false" in result.err


def test_create_heals_drift(deploy: Deploy, cloud: Cloud) -> None:
    deploy("create", "--yes")
    cloud.change("aws/bucket", {"public": True})

    assert "1 to change. Plan" in deploy("create", "--yes").err
    assert deploy("drift").code == 0


def test_verify_says_what_does_not_work(deploy: Deploy, cloud: Cloud) -> None:
    deploy("create", "--yes")
    assert "3 of 3 objects work." in deploy("verify").err


def test_verify_before_a_create_names_what_is_missing(deploy: Deploy) -> None:
    result = deploy("verify")

    assert result.code == 5
    assert "aws/bucket: aws/bucket is not there." in result.err
    assert "0 of 3 objects work." in result.err


def test_delete_removes_everything_and_may_be_run_again(deploy: Deploy, cloud: Cloud) -> None:
    deploy("create", "--yes")

    first, second = deploy("delete", "--yes"), deploy("delete", "--yes")

    assert (first.code, second.code) == (0, 0)
    assert "3 to delete. Plan " in first.err
    assert "aws/bucket: gone, " in first.err
    assert "Nothing is left of it." in second.err
    assert cloud.objects == {}


def test_one_part_alone_is_deleted(deploy: Deploy, cloud: Cloud) -> None:
    deploy("create", "--yes")

    result = deploy("delete", "--only", "confluent", "--yes")

    assert result.code == 0
    assert "shop's part confluent is gone." in result.err
    assert cloud.names() == ["aws/bucket", "aws/role"]


def test_what_was_taken_out_and_holds_data_is_shown_and_goes_by_an_explicit_word(
    deploy: Deploy, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy("create", "--yes")
    cloud.add("aws/bucket/former", {})
    monkeypatch.setattr(deployment, "FORMER", {"all": lambda *_: [Thing(cloud, "aws/bucket/former")]})

    assert "= aws/bucket/former (no longer in the deployment, but stays" in deploy("plan").err
    assert deploy("plan", "--json").document["held"] == ["aws/bucket/former"]
    deploy("create", "--yes")
    assert "aws/bucket/former" in cloud.names()

    deploy("create", "--remove-data", "--yes")
    assert "aws/bucket/former" not in cloud.names()


def test_patience_is_told_in_minutes_and_is_short_where_things_are_only_proved(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = []

    def reconciler_of(spec: DeploymentSpec, settings: Settings, **how: Any) -> Reconciler:
        patience.append(how["patience"])
        return deployment.reconciler_of(spec, settings, **how)

    monkeypatch.setattr("frazil_cloud.cli.deploy.reconciler_of", reconciler_of)
    for arguments in (["create", "--yes"], ["verify"], ["verify", "--patience", "5"]):
        assert deploy(*arguments).code == 0

    assert patience == [1800, 120, 300]


def test_the_debug_log_tells_each_step_with_its_time(deploy: Deploy, tmp_path: Path) -> None:
    deploy("create", "--yes", "--debug")

    log = (tmp_path / "frazil-deploy-debug.log").read_text()
    assert "aws/role: creating, 0.0 s" in log
    assert "aws/role: ready, " in log


def test_an_object_that_is_refused_names_itself_and_what_was_made_stays(
    deploy: Deploy, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = Thing(cloud, "aws/bucket", fields={"public": True}, fixed=frozenset({"public"}))
    monkeypatch.setattr(deployment, "OBJECTS", {"all": lambda spec, clouds: [bucket]})
    deploy("create", "--yes")
    other = replace(bucket, fields={"public": False})
    monkeypatch.setattr(deployment, "OBJECTS", {"all": lambda spec, clouds: [other]})

    result = deploy("create", "--yes")

    assert result.code == 1
    assert "! aws/bucket" in result.err
    assert "Fields differ that nobody can change" in result.err


def test_the_objects_are_drawn(deploy: Deploy, tmp_path: Path) -> None:
    result = deploy("graph", "--json")

    assert (result.document["assets"], result.document["edges"]) == (3, 2)
    assert "aws/bucket-&gt;aws/role" in (tmp_path / "shop.svg").read_text().replace("&#45;", "-")


def test_the_new_plan_is_agreed_to_and_done(deploy: Deploy, cloud: Cloud) -> None:
    digest = deploy("plan", "--json").document["digest"]
    cloud.add("aws/bucket", {"public": True})
    stale = deploy("create", "--plan", digest)
    assert "Look at the new plan, and agree to it." in stale.err

    new = deploy("plan", "--json").document["digest"]

    assert new in stale.err
    assert deploy("create", "--plan", new).code == 0
    assert "Everything is as it should be." in deploy("plan").err


def test_a_debug_log_is_written_in_another_folder(
    deploy: Deploy, cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "frazil-deploy-debug.log").mkdir()
    refused = deploy("create", "--yes", "--debug")
    assert "Start it in another folder." in refused.err
    assert cloud.done == []

    (tmp_path / "another").mkdir()
    monkeypatch.chdir(tmp_path / "another")

    assert deploy("create", "--yes", "--debug").code == 0
    assert (tmp_path / "another" / "frazil-deploy-debug.log").is_file()
