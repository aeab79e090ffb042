"""Where files are is said by the settings: a catalog that was not asked for keys does not say it anew."""

from __future__ import annotations

from frazil.landing.land import land
from frazil.settings.profile import Settings
from kit.records.topics import topic_maker
from kit.wires.over_the_wire import over_the_wire


def test_the_settings_storage_is_asked_whatever_the_catalog_names(stack: Settings, fresh_name: str) -> None:
    with over_the_wire(stack) as (wire, clients):
        topic = topic_maker(clients, fresh_name, "places")(partitions=1)
        topic.trades(3)
        asked: set[str] = set()
        wire.plan = lambda each: asked.add(each.server)  # all is answered as it should be

        assert land(topic.spec, clients).records == 3

    assert asked >= {"rest", "s3"}
