"""Tags of Lake Formation on a Glue table: those that the settings name, and only what differs is sent."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.errors import ConfigureError, NotAllowedError
from frazil.publishing.glue import Glue
from frazil.publishing.reading import read_all
from frazil.spec.topic import TableSpec
from kit.readers.mirrored import NAME, Mirror, Standing
from kit.wires.wire import Asked, Fate, Wire

TAGS = {"domain": "Sales", "tier": "gold", "note": "of-the-spec"}
US = "arn:aws:iam::123456789012:user/key"
ANNA = "arn:aws:iam::123456789012:user/anna"


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Three rows that Glue shows, whose spec has tags; Lake Formation has two tags of these names."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"], tags=TAGS)
    mirror = standing.shown(spec, 3)
    mirror._settings = mirror._settings.with_changes(
        glue={"lf_tags": "domain, tier", "lf_endpoint": standing.glue}
    )
    mirror.connect()
    administrate(mirror)
    for key, values in {"domain": ["sales", "stock"], "tier": ["gold"], "owned": ["by others"]}.items():
        lake(mirror).delete_lf_tag(TagKey=key)
        lake(mirror).create_lf_tag(TagKey=key, TagValues=values)
    return mirror


def lake(mirror: Mirror) -> Any:
    return mirror.connections.lake_formation


def administrate(mirror: Mirror, *users: str) -> None:
    """From now on rights count, but for these; for nobody where there are none."""
    admins = [{"DataLakePrincipalIdentifier": user} for user in users]
    lake(mirror).put_data_lake_settings(DataLakeSettings={"DataLakeAdmins": admins})


def table_of(mirror: Mirror) -> dict[str, Any]:
    return {"Table": {"DatabaseName": mirror.folder.name, "Name": NAME.table}}


def tags_of(mirror: Mirror) -> dict[str, str]:
    tags = lake(mirror).get_resource_lf_tags(Resource=table_of(mirror)).get("LFTagsOnTable", ())
    return {tag["TagKey"]: tag["TagValues"][0] for tag in tags}


def tag(mirror: Mirror, **tags: str) -> None:
    pairs = [{"TagKey": key, "TagValues": [value]} for key, value in tags.items()]
    failures = lake(mirror).add_lf_tags_to_resource(Resource=table_of(mirror), LFTags=pairs)["Failures"]
    assert not failures


def retag(mirror: Mirror, **tags: str) -> None:
    mirror.spec = mirror.spec.model_copy(update={"tags": tags})


def changes(wire: Wire) -> list[str]:
    """The requests that change tags, so far."""
    return [asked.path[1:] for asked in wire.asked if "LFTagsTo" in asked.path or "LFTagsFrom" in asked.path]


def _adds(asked: Asked) -> bool:
    return asked.path == "/AddLFTagsToResource"


def test_a_table_has_the_tags_that_the_settings_name_and_others_keep_theirs(mirror: Mirror) -> None:
    tag(mirror, owned="by others")

    mirror.sync()

    assert tags_of(mirror) == {"domain": "sales", "tier": "gold", "owned": "by others"}
    retag(mirror, domain="stock")
    mirror.sync()
    assert tags_of(mirror) == {"domain": "stock", "owned": "by others"}


def test_only_what_differs_is_sent(standing: Standing, mirror: Mirror, wire: Wire) -> None:
    mirror._settings = mirror._settings.with_changes(glue={"lf_endpoint": standing.glue})
    mirror.connect()
    before = len(changes(wire))

    mirror.sync()
    mirror.land()
    mirror.sync()
    retag(mirror, tier="gold")
    mirror.sync()

    assert changes(wire)[before:] == ["AddLFTagsToResource", "RemoveLFTagsFromResource"]


def test_a_new_entry_has_them_as_well(mirror: Mirror) -> None:
    mirror.connections.glue.delete_table(DatabaseName=mirror.folder.name, Name=NAME.table)

    mirror.sync()

    assert tags_of(mirror) == {"domain": "sales", "tier": "gold"}


def test_a_value_that_the_tag_does_not_have_is_refused_and_newer_rows_wait_until_it_has_it(
    mirror: Mirror,
) -> None:
    before = mirror.shown
    mirror.land()
    retag(mirror, tier="gold", domain="unheard-of")

    with pytest.raises(ConfigureError, match="Lake Formation has no LF-tag domain=unheard-of") as refused:
        mirror.sync()

    assert "make the tag with that value" in refused.value.todo
    assert (mirror.shown, tags_of(mirror)) == (before, {})
    lake(mirror).update_lf_tag(TagKey="domain", TagValuesToAdd=["unheard-of"])
    assert mirror.sync() == mirror.table.metadata_location
    assert tags_of(mirror) == {"tier": "gold", "domain": "unheard-of"}


def test_a_role_without_the_right_on_a_tag_shows_no_newer_rows_until_it_has_it(mirror: Mirror) -> None:
    before = mirror.shown
    mirror.land()
    administrate(mirror, ANNA)

    with pytest.raises(NotAllowedError, match="Lake Formation does not allow AddLFTagsToResource") as refused:
        mirror.sync()

    assert "Required Associate on domain" in refused.value.where
    assert mirror.shown == before
    for key in ("domain", "tier"):
        lake(mirror).grant_permissions(
            Principal={"DataLakePrincipalIdentifier": US},
            Resource={"LFTag": {"TagKey": key, "TagValues": ["*"]}},
            Permissions=["ASSOCIATE"],
        )
    assert mirror.sync() == mirror.table.metadata_location
    assert tags_of(mirror) == {"domain": "sales", "tier": "gold"}


@pytest.mark.parametrize("fate", ["dropped", "failed", "unsent"])
def test_a_lost_answer_of_lake_formation_is_asked_for_again(mirror: Mirror, wire: Wire, fate: Fate) -> None:
    mirror.land()
    wire.once(fate, _adds)

    assert mirror.sync() == mirror.table.metadata_location

    assert tags_of(mirror) == {"domain": "sales", "tier": "gold"}


def test_drift_tells_a_tag_that_others_changed_and_puts_it_back(mirror: Mirror) -> None:
    mirror.sync()
    tag(mirror, domain="stock")

    (drift,) = find_drift([mirror.spec], mirror.connections)

    assert (drift.state, drift.why) == ("labels", "LF-tag domain is stock and should be sales")
    ((after,), _) = repair_drift(mirror.spec, [drift], mirror.connections)
    assert after.repaired
    retag(mirror, domain="Sales")
    (drift,) = find_drift([mirror.spec], mirror.connections)
    assert "LF-tag tier is none of the spec's" in drift.why


def test_of_many_tables_tags_are_asked_for_by_drift_and_not_by_each_look_of_the_sensor(
    mirror: Mirror, wire: Wire
) -> None:
    mirror.sync()
    specs = [mirror.spec, *(TableSpec(topic=f"t{n}", namespace="unit", publish=["glue"]) for n in range(9))]
    targets = [Glue(spec, mirror.connections.settings) for spec in specs]
    before = len(wire.asked)

    looked = read_all(targets, mirror.connections)[targets[0].path]
    compared = read_all(targets, mirror.connections, tags=True)[targets[0].path]

    asked = [asked.operation or asked.path for asked in wire.asked[before:]]
    assert asked == ["GetTables", "GetTables", "/GetResourceLFTags"]
    assert "LF-tag domain" not in looked.labels  # type: ignore[union-attr,operator]
    assert compared.labels["LF-tag domain"] == "sales"  # type: ignore[union-attr,index]
