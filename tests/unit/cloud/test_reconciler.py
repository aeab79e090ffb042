"""A deployment is planned, made in order, found again, healed and removed; a cloud is a dictionary here."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from frazil.errors import CloudSlowError, DifferentError, MissingError, NotAllowedError, PlanStaleError
from frazil_cloud.patience import Patience, Waiting
from frazil_cloud.plan import Change, Step
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Facts, Known, NotYet, RefusedYet
from kit.clouds.dictionary_cloud import Cloud, Killed, Thing
from kit.runs.waiting import PATIENCE


def of(cloud: Cloud, *, patience: float = 20.0) -> Reconciler:
    """A bucket, an integration, a role that bears both ids, and a table that bears the role's."""
    return Reconciler(
        [
            Thing(cloud, "aws/role", ("aws/bucket", "confluent/integration")),
            Thing(cloud, "confluent/table", ("aws/role",)),
            Thing(cloud, "aws/bucket", fields={"public": False}),
            Thing(cloud, "confluent/integration", fields={"arn": "arn:aws:iam::1:role/writer"}),
        ],
        patience=patience,
        margin=0.3,
        pause=0.1,
    )


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


def made(cloud: Cloud) -> Reconciler:
    reconciler = of(cloud)
    reconciler.apply(reconciler.plan())
    return reconciler


def test_a_plan_names_what_is_missing_and_why_it_has_to_wait(cloud: Cloud) -> None:
    plan = of(cloud).plan()
    assert {step.address: step.action for step in plan.steps} == dict.fromkeys(of(cloud).addresses, "create")
    assert "+ confluent/table (after aws/role)" in str(plan)
    assert cloud.done == []


def test_objects_are_made_after_those_that_they_need(cloud: Cloud) -> None:
    made(cloud)
    assert cloud.done.index("create aws/role") > max(
        cloud.done.index("create aws/bucket"), cloud.done.index("create confluent/integration")
    )
    assert cloud.done[-1] == "create confluent/table"


def test_a_wait_says_what_it_waits_for_since_when_and_how_much_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("frazil_cloud.patience.SAID_EVERY", 0.2)
    heard: list[Waiting] = []

    def never() -> None:
        raise RefusedYet("the role is not seen yet")

    with pytest.raises(CloudSlowError):
        Patience("aws/role", 1.0, 0.05, threading.Event(), heard.append).wait(never)
    assert len(heard) >= 2
    assert "aws/role waits since" in str(heard[0])
    assert "the role is not seen yet" in str(heard[0])
    assert heard[0].left > heard[-1].left >= 0
    assert heard[0].document.keys() == {"waiting", "for", "since", "seconds_left"}


def test_a_try_that_takes_long_is_told_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told between two tries only, and one may take minutes."""
    monkeypatch.setattr("frazil_cloud.patience.SAID_EVERY", 0.1)
    heard, reasons = threading.Event(), list[str]()

    def hear(waiting: Waiting) -> None:
        reasons.append(waiting.reason)
        heard.set()

    def slow() -> bool:
        return heard.wait(PATIENCE)

    assert Patience("aws/role", 60.0, 0.05, threading.Event(), hear).wait(slow)
    assert reasons[0] == "an answer"
    threads = {each.name for each in threading.enumerate()}
    assert "waiting for aws/role" not in threads


def test_a_second_plan_is_empty(cloud: Cloud) -> None:
    assert made(cloud).plan().news == ()


def test_what_somebody_changed_by_hand_is_shown_field_by_field_and_mended(cloud: Cloud) -> None:
    reconciler = made(cloud)
    cloud.change("aws/bucket", {"public": True})
    drift = reconciler.plan()
    assert drift.news == (Step("aws/bucket", "update", (Change("public", True, False),)),)
    assert "public: true -> false" in str(drift)
    reconciler.apply(drift)
    assert reconciler.plan().news == ()


def test_an_object_made_anew_by_hand_is_followed_by_those_that_bear_its_id(cloud: Cloud) -> None:
    reconciler = made(cloud)
    cloud.remove("confluent/integration")
    cloud.add("confluent/integration", {"arn": "arn:aws:iam::1:role/writer"})
    assert [step.address for step in reconciler.plan().news] == ["aws/role"]
    known = reconciler.apply(reconciler.plan())
    assert known["confluent/integration"]["id"] in known["aws/role"]["of"]


def test_a_plan_is_refused_once_the_clouds_changed(cloud: Cloud) -> None:
    reconciler = made(cloud)
    cloud.change("aws/bucket", {"public": True})
    plan = reconciler.plan()
    cloud.remove("confluent/table")
    with pytest.raises(PlanStaleError) as refused:
        reconciler.apply(plan)
    assert "+ confluent/table" in refused.value.where
    assert "Nothing was done" in str(refused.value)
    assert not any(deed.startswith("update aws") for deed in cloud.done[6:])


def test_a_field_that_nobody_can_change_blocks_the_plan(cloud: Cloud) -> None:
    bucket = Thing(cloud, "aws/bucket", fields={"region": "us-east-1"}, fixed=frozenset({"region"}))
    Reconciler([bucket]).apply(Reconciler([bucket]).plan())
    moved = Reconciler([replace(bucket, fields={"region": "eu-west-1"})])
    with pytest.raises(DifferentError, match="nobody can change") as refused:
        moved.apply(moved.plan())
    assert '! aws/bucket\n    region: "us-east-1" -> "eu-west-1"' in refused.value.where


def test_all_is_removed_users_first_and_again_is_no_error(cloud: Cloud) -> None:
    reconciler = made(cloud)
    cloud.done.clear()
    reconciler.destroy(reconciler.removal())
    assert cloud.done[:2] == ["delete confluent/table", "delete aws/role"]
    assert cloud.names() == []
    reconciler.destroy(reconciler.removal())
    assert len(cloud.done) == 4


def test_what_is_left_after_somebody_removed_its_need_is_removed_too(cloud: Cloud) -> None:
    reconciler = made(cloud)
    cloud.remove("confluent/integration")
    reconciler.destroy(reconciler.removal())
    assert cloud.names() == []


@pytest.mark.parametrize("every", [2, 3, 5])
def test_lost_answers_make_no_object_twice(cloud: Cloud, every: int) -> None:
    cloud.late, cloud.lose_every, cloud.throttle_every = 0.1, every, 7
    reconciler = made(cloud)
    assert cloud.names() == sorted(reconciler.addresses)
    reconciler.destroy(reconciler.removal())
    assert cloud.names() == []


def test_what_an_update_removes_to_make_it_anew_is_not_looked_for(cloud: Cloud) -> None:
    class Failing(Thing):
        def wanted(self, known: Known) -> Facts:
            return {"phase": "RUNNING"}

        def create(self, known: Known) -> None:
            self.cloud.add(self.address, {"phase": "RUNNING" if self.cloud.done else "FAILED"})

        def update(self, there: Facts, known: Known) -> None:
            self.delete(there, known)
            raise RefusedYet("it FAILED and is made anew")

    cluster = Reconciler([Failing(cloud, "confluent/cluster")], patience=30, margin=3600)
    cluster.apply(cluster.plan())
    assert cloud.done == ["create confluent/cluster", "delete confluent/cluster", "create confluent/cluster"]


def test_a_run_killed_at_any_call_is_continued_by_the_next(cloud: Cloud) -> None:
    made(Cloud())
    for at in range(1, 60):
        killed = Cloud(kill_at=at)
        try:
            made(killed)
        except Killed:
            made(killed)
        assert killed.names() == sorted(of(killed).addresses), f"killed at call {at}"


def test_the_reason_for_waiting_in_vain_is_told_and_not_the_last_429(cloud: Cloud) -> None:
    class Refused(Thing):
        def create(self, known: Known) -> None:
            raise NotAllowedError("AWS does not allow s3:CreateBucket.")

    cloud.throttle_every = 3
    pending = Thing(cloud, "confluent/cluster", fields={"phase": "PENDING"})
    slow = Reconciler([pending], patience=0.5)
    with pytest.raises(CloudSlowError, match="confluent/cluster: confluent/cluster is PENDING") as raised:
        slow.apply(slow.plan())
    assert "What was made stays" in str(raised.value)
    no = Reconciler([Refused(Cloud(), "aws/bucket")])
    with pytest.raises(NotAllowedError, match="CreateBucket"):
        no.apply(no.plan())


def test_a_failure_ends_the_waiting_of_all_others(cloud: Cloud) -> None:
    waiting = threading.Event()

    class Slow(Thing):
        def read(self, known: Known) -> Facts | None:
            if self.cloud.done:
                waiting.set()
                raise NotYet("it is PROVISIONING")
            return super().read(known)

    class Failing(Thing):
        def create(self, known: Known) -> None:
            self.cloud.done.append("")
            assert waiting.wait(60)
            raise NotAllowedError("no")

    both = Reconciler([Slow(cloud, "confluent/cluster"), Failing(cloud, "aws/bucket")], patience=3600)
    with pytest.raises(NotAllowedError):
        both.apply(both.plan())


def test_verifying_uses_every_object_and_tells_which_one_does_not_work(cloud: Cloud) -> None:
    reconciler = made(cloud)
    assert set(reconciler.verify().values()) == {None}
    broken = Thing(cloud, "aws/bucket", fields={"public": False}, works=lambda _: "403 on s3:PutObject")
    cloud.remove("confluent/table")
    outcomes = Reconciler([broken, Thing(cloud, "confluent/table")], patience=0.3).verify()
    assert "403 on s3:PutObject" in str(outcomes["aws/bucket"])
    assert isinstance(outcomes["confluent/table"], MissingError)


def test_what_was_taken_out_is_planned_and_removed_behind_all_else(cloud: Cloud) -> None:
    made(cloud)
    kept = [Thing(cloud, "aws/bucket", fields={"public": False})]
    taken = [
        Thing(cloud, "confluent/integration", fields={"arn": "arn:aws:iam::1:role/writer"}),
        Thing(cloud, "aws/role", ("aws/bucket", "confluent/integration")),
        Thing(cloud, "confluent/table", ("aws/role",)),
        Thing(cloud, "confluent/never"),
    ]
    smaller = Reconciler(kept, former=lambda known: [*taken, *kept] if "aws/bucket" in known else [])
    cloud.throttle_every = 3

    plan = smaller.plan()
    smaller.apply(plan)

    assert str(plan).splitlines() == [
        "- confluent/table (no longer in the deployment)",
        "- aws/role (no longer in the deployment)",
        "- confluent/integration (no longer in the deployment)",
    ]
    assert cloud.names() == ["aws/bucket"]
    assert smaller.plan().news == ()


def test_what_was_taken_out_and_holds_data_goes_by_an_explicit_word_only(cloud: Cloud) -> None:
    acl = Thing(cloud, "confluent/acl/trades")
    topic = Thing(cloud, "confluent/topic/trades", ("confluent/acl/trades",))
    Reconciler([acl, topic]).apply(Reconciler([acl, topic]).plan())

    def without(**options: bool) -> Reconciler:
        return Reconciler([], former=lambda _: [acl, topic], **options)

    plan = without().plan()
    without().apply(plan)
    assert (plan.news, [step.address for step in plan.held_back]) == ((), ["confluent/topic/trades"])
    assert "--remove-data" in str(plan.held_back[0])
    assert cloud.names() == ["confluent/acl/trades", "confluent/topic/trades"]

    removing = without(removes_data=True)
    removing.apply(removing.plan())
    assert cloud.done[-2:] == ["delete confluent/topic/trades", "delete confluent/acl/trades"]


def test_one_cloud_alone_is_removed_with_what_was_taken_out_of_it(cloud: Cloud) -> None:
    made(cloud)
    kept = [Thing(cloud, "aws/bucket"), Thing(cloud, "confluent/integration")]
    taken = [Thing(cloud, "confluent/table"), Thing(cloud, "aws/role")]
    smaller = Reconciler(kept, former=lambda _: taken)

    smaller.destroy(smaller.removal("confluent"), only="confluent")

    assert cloud.names() == ["aws/bucket", "aws/role"]


def test_what_was_taken_out_goes_with_the_whole(cloud: Cloud) -> None:
    made(cloud)
    taken = [Thing(cloud, "confluent/table"), Thing(cloud, "aws/role")]
    kept = [Thing(cloud, "aws/bucket"), Thing(cloud, "confluent/integration")]
    smaller = Reconciler(kept, former=lambda _: taken)

    smaller.destroy(smaller.removal())

    assert cloud.names() == []


def test_a_need_that_is_no_object_is_refused(cloud: Cloud) -> None:
    with pytest.raises(MissingError, match="aws/bucket"):
        Reconciler([Thing(cloud, "aws/role", ("aws/bucket",))])
