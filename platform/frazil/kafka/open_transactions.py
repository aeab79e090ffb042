"""Since when a transaction keeps what is behind it from being read.

Brokers name its producer by DescribeProducers and ListTransactions, which librdkafka 2.16 does not speak:
`kafka-transactions.sh find-hanging` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.kafka.facts import TopicFacts
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.settings.profile import Settings

_UNCOMMITTED: dict[str, str | int | bool] = {**ONE_RECORD, "isolation.level": "read_uncommitted"}
_FIRST_SIGHT = -1.0

_EPOCH = 1e9
"""September 2001, in seconds: nobody's record is older than Kafka."""

_UNITS = (1e3, 1e6, 1e9)
"""Of a second: a record's timestamp is in milliseconds, but some producers set micro- or nanoseconds."""

_since: dict[tuple[str, str, int], tuple[int, float]] = {}
"""By log and partition: the last stable offset of the last look, and since when it stands there."""


def open_since(
    settings: Settings,
    facts: TopicFacts,
    waiting: Mapping[int, int],
    now: float,
    *,
    at_first_sight: bool = True,
) -> float | None:
    """When the oldest of the transactions began, in seconds since the epoch; None where nobody looked yet.

    One record is read where a last stable offset stands still; each is read once. Its timestamp is when the
    transaction began. Where that is no time of the past it is the moment of this process' first look.

    Args:
        waiting: By partition how many offsets wait behind its last stable offset.
        now: Seconds since the epoch.
        at_first_sight: Whether it is read at once. Who looks all the time waits for the next look: most
            transactions have ended by then.
    """
    keys = {p: (settings.kafka.bootstrap_servers, facts.topic_id, p) for p in waiting}
    asked: dict[int, int] = {}
    for p, key in keys.items():
        offset, since = _since.get(key, (-1, _FIRST_SIGHT))
        if offset != facts.end[p]:
            _since[key] = facts.end[p], _FIRST_SIGHT
        if since == _FIRST_SIGHT and (at_first_sight or offset == facts.end[p]):
            asked[p] = facts.end[p]
    if asked:
        with open_probe(settings, facts.topic, **_UNCOMMITTED) as probe:
            for p, message in probe.look(asked).items():
                _since[keys[p]] = asked[p], began(message.timestamp()[1], now)
    known = [_since[key][1] for p, key in keys.items() if _since[key][0] == facts.end[p]]
    return min((since for since in known if since != _FIRST_SIGHT), default=None)


def began(timestamp: int, now: float) -> float:
    """The moment that a record's timestamp means, in seconds since the epoch; `now` where it means none."""
    moments = (timestamp / unit for unit in _UNITS)
    return next((moment for moment in moments if _EPOCH < moment <= now), now)
