"""What Kafka's admin API tells about topics: identity, first offsets, last stable offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, OffsetSpec, TopicDescription

from frazil.errors import FrazilError, NotYetError
from frazil.kafka.clients import GONE, asked, is_passing, kafka_error

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of every topic of a broker that gives none: before 2.8, or one that only speaks Kafka's protocol."""

_WHERE = "Kafka's admin API"
_FIRST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LAST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_UNTOLD = KafkaError(KafkaError.OFFSET_NOT_AVAILABLE, "its answer with the offsets was lost", False, True)
"""librdkafka 2.16 gives -1001 for an offset, and no error, where the connection was lost meanwhile."""

_DESCRIBE_SECONDS = 5.0  # describing asks for metadata only; a broker that takes longer is down


Refused = dict[str, KafkaException]
"""Why the brokers do not tell of some topics."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic at one moment."""

    topic: str
    topic_id: str  # its identity; another one after the topic was deleted and made again; or NO_ID
    first: dict[int, int]  # the log start offset of each partition
    end: dict[int, int]  # the last stable offset of each partition: what read_committed may see, exclusive
    leader_epochs: dict[int, int]  # the current leader epoch of each partition, -1 where Kafka does not tell
    high: dict[int, int] = field(default_factory=dict)  # the high watermarks, as far as known

    @property
    def offsets(self) -> int:
        """How many the topic holds."""
        return sum(end - self.first[partition] for partition, end in self.end.items())

    def behind_transactions(self, position: Mapping[int, int]) -> dict[int, int]:
        """By partition how many offsets behind a position wait for an open transaction, where any do."""
        waits = {p: self.high.get(p, end) - max(end, position.get(p, 0)) for p, end in self.end.items()}
        return {p: n for p, n in waits.items() if n > 0}


def topic_facts(admin: AdminClient, topics: Collection[str], timeout: float = 10.0) -> dict[str, TopicFacts]:
    """The facts of many topics in four requests; topics that do not exist are left out.

    Raises:
        PartDownError: Kafka does not answer, or has no leader for a partition.
    """
    facts, refused = known_facts(admin, topics, timeout)
    for error in refused.values():
        raise error
    return facts


def known_facts(
    admin: AdminClient, topics: Collection[str], timeout: float = 10.0
) -> tuple[dict[str, TopicFacts], dict[str, FrazilError]]:
    """The same as far as it can be told; and what keeps each other topic from being told of.

    Raises:
        PartDownError: Kafka tells of no topic.
    """
    look = _Look(admin, sorted(set(topics)), timeout)
    try:
        asked(_WHERE, admin, look)
    except FrazilError:
        if not look.facts:
            raise
    return look.facts, {t: kafka_error(e.args[0], f"topic {t}") for t, e in look.refused.items()}


def topic_fact(admin: AdminClient, topic: str) -> TopicFacts:
    """The facts of one topic.

    Raises:
        NotYetError: It does not exist; the text names it and those of a like name.
        PartDownError: Kafka does not answer.
    """
    facts = topic_facts(admin, [topic])
    if topic not in facts:
        raise _missing(admin, topic)
    return facts[topic]


def describe(
    admin: AdminClient, topics: Iterable[str], timeout: float = _DESCRIBE_SECONDS
) -> dict[str, TopicDescription]:
    """Descriptions of those of the topics that exist.

    Raises:
        PartDownError: Kafka does not answer.
    """

    def ask() -> dict[str, TopicDescription]:
        described, refused = _describe(admin, sorted(set(topics)), timeout)
        for error in refused.values():
            raise error
        return described

    return asked(_WHERE, admin, ask)


def allowed_operations(admin: AdminClient, topic: str) -> set[AclOperation] | None:
    """What this client may do with a topic that is there; None where its brokers do not tell."""

    def ask() -> set[AclOperation] | None:
        futures = admin.describe_topics(
            TopicCollection([topic]),
            include_authorized_operations=True,
            request_timeout=_DESCRIBE_SECONDS,
        )
        operations = futures[topic].result().authorized_operations
        return None if operations is None else set(operations)

    return asked(_WHERE, admin, ask)


def all_topics(admin: AdminClient) -> list[str]:
    """Of all topics, in order.

    Raises:
        PartDownError: Kafka does not answer.
    """
    return asked(_WHERE, admin, lambda: sorted(admin.list_topics(timeout=_DESCRIBE_SECONDS).topics))


class _Look:
    """A question for the facts of topics; put again, it asks for those only of which nothing was told."""

    def __init__(self, admin: AdminClient, topics: list[str], timeout: float) -> None:
        self._admin, self._topics, self._timeout = admin, topics, timeout
        self.facts: dict[str, TopicFacts] = {}
        self.refused: Refused = {}

    def __call__(self) -> None:
        facts, self.refused = _facts(self._admin, list(self.refused) or self._topics, self._timeout)
        self.facts |= facts
        passing = [e for e in self.refused.values() if is_passing(e)]
        for error in passing or (() if self.facts else self.refused.values()):
            raise error


def _facts(admin: AdminClient, topics: list[str], timeout: float) -> tuple[dict[str, TopicFacts], Refused]:
    described, unknown = _describe(admin, topics, min(timeout, _DESCRIBE_SECONDS))
    places = [TopicPartition(t, p.id) for t, about in described.items() for p in about.partitions]
    first, without_first = _offsets(admin, places, _FIRST, timeout)
    # Before the last stable offsets: records that come in between would seem to wait for a transaction.
    high, without_high = _offsets(admin, places, _LAST, timeout, IsolationLevel.READ_UNCOMMITTED)
    end, without_end = _offsets(admin, places, _LAST, timeout)
    refused = unknown | without_first | without_high | without_end
    facts = {
        topic: TopicFacts(
            topic=topic,
            topic_id=str(about.topic_id),
            first={p: at for p, (at, _) in first[topic].items()},
            end={p: at for p, (at, _) in end[topic].items()},
            leader_epochs={p: epoch for p, (_, epoch) in end[topic].items()},
            high={p: at for p, (at, _) in high[topic].items()},
        )
        for topic, about in described.items()
        if topic not in refused
    }
    return facts, refused


def _describe(
    admin: AdminClient, topics: list[str], timeout: float
) -> tuple[dict[str, TopicDescription], Refused]:
    if not topics:
        return {}, {}
    answers: dict[str, TopicDescription] = {}
    refused: Refused = {}
    futures = admin.describe_topics(TopicCollection(topics), request_timeout=timeout)
    for topic, future in futures.items():
        try:
            answers[topic] = future.result()
        except KafkaException as e:
            if e.args[0].code() not in GONE:
                refused[topic] = e
    return answers, refused


def _offsets(
    admin: AdminClient,
    places: list[TopicPartition],
    spec: OffsetSpec,
    timeout: float,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> tuple[dict[str, dict[int, tuple[int, int]]], Refused]:
    """Offset and leader epoch by topic and partition."""
    if not places:
        return {}, {}
    futures = admin.list_offsets(
        dict.fromkeys(places, spec), isolation_level=isolation, request_timeout=timeout
    )
    offsets: dict[str, dict[int, tuple[int, int]]] = {}
    refused: Refused = {}
    for place, future in futures.items():
        try:
            info = future.result()
        except KafkaException as e:
            refused[place.topic] = e
            continue
        if info.offset < 0:
            refused[place.topic] = KafkaException(_UNTOLD)
            continue
        epoch = -1 if info.leader_epoch is None else info.leader_epoch
        offsets.setdefault(place.topic, {})[place.partition] = (info.offset, epoch)
    return offsets, refused


def _missing(admin: AdminClient, topic: str) -> NotYetError:
    names = all_topics(admin)
    near = get_close_matches(topic, names) or [n for n in names if not n.startswith("_")][:5]
    return NotYetError(
        f"Topic {topic} does not exist.",
        where=f"the nearest of {len(names)} topics: {', '.join(near)}" if near else "there is no topic",
        meaning="Nothing was landed.",
        todo="Fix the name, or make the topic: `frazil land TABLE --make-topic` makes it as the spec says.",
    )
