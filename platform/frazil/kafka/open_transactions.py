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
_NOT_TOLD = 0.0

_since: dict[tuple[str, str, int], tuple[int, float]] = {}
"""By log and partition: the last stable offset of the last look, and since when it stands there."""


def open_since(
    settings: Settings, facts: TopicFacts, held: Mapping[int, int], *, at_first_sight: bool = True
) -> float | None:
    """When the oldest of the transactions began, in seconds since the epoch, by its first record's timestamp.

    One record is read where a last stable offset stands still; each is read once.

    Args:
        held: By partition how many offsets wait behind its last stable offset.
        at_first_sight: Whether it is read at once. Who looks all the time waits for the next look: most
            transactions have ended by then.
    """
    keys = {p: (settings.kafka.bootstrap_servers, facts.topic_id, p) for p in held}
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
                _, milliseconds = message.timestamp()
                _since[keys[p]] = asked[p], max(_NOT_TOLD, milliseconds / 1000)
    known = [_since[key][1] for p, key in keys.items() if _since[key][0] == facts.end[p]]
    return min((since for since in known if since > _NOT_TOLD), default=None)
