"""What errors of the reconciler advise is done, and comes out right; a cloud is a dictionary here."""

from __future__ import annotations

import pytest

from frazil.errors import CloudSlowError, MissingError, PlanStaleError
from frazil_cloud.reconciler import Reconciler
from kit.clouds.dictionary_cloud import Cloud, Thing


def of(cloud: Cloud, patience: float = 20.0) -> Reconciler:
    bucket = Thing(cloud, "aws/bucket", fields={"public": False})
    cluster = Thing(cloud, "confluent/cluster", fields={"phase": "UP"})
    return Reconciler([bucket, cluster], patience=patience, margin=0.3, pause=0.1)


def test_the_new_plan_is_agreed_to_where_the_clouds_changed() -> None:
    cloud = Cloud()
    plan = of(cloud).plan()
    cloud.add("aws/bucket", {"public": True})
    with pytest.raises(PlanStaleError) as raised:
        of(cloud).apply(plan)
    assert cloud.names() == ["aws/bucket"]

    new = of(cloud).plan()
    assert str(new) == raised.value.where
    of(cloud).apply(new)

    assert of(cloud).plan().news == ()


def test_the_same_run_goes_on_once_the_reason_is_mended_and_makes_nothing_twice() -> None:
    cloud = Cloud()
    late = Thing(cloud, "confluent/cluster", fields={"phase": "PENDING"})
    slow = Reconciler([late, Thing(cloud, "aws/bucket", fields={"public": False})], patience=0.5)
    plan = slow.plan()
    with pytest.raises(CloudSlowError, match="confluent/cluster is PENDING"):
        slow.apply(plan)
    cloud.change("confluent/cluster", {"phase": "UP"})

    of(cloud).apply(of(cloud).plan())

    assert cloud.names() == ["aws/bucket", "confluent/cluster"]
    assert of(cloud).plan().news == ()


def test_an_object_that_is_not_there_works_after_create() -> None:
    cloud = Cloud()
    missing = of(cloud, patience=0.3).verify()
    assert {type(each) for each in missing.values()} == {MissingError}
    assert {each.todo for each in missing.values() if each} == {"Run `frazil deploy create`."}

    of(cloud).apply(of(cloud).plan())

    assert not any(of(cloud).verify().values())
