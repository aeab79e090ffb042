"""Clients of Kafka, and what their errors mean for the reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import stamina
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from frazil.errors import STAYS, ConfigureError, FrazilError, MissingError, NotAllowedError, PartDownError
from frazil.kafka.access import librdkafka_access
from frazil.settings.nearby import to_start
from frazil.settings.profile import Settings
from frazil.settings.secret import read_anew, revealed
from frazil.settings.systems.kafka import KafkaSettings

T = TypeVar("T")

_UNKNOWN_CALLER = frozenset(
    {KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED}
)
_NOT_ALLOWED = frozenset({
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
})  # fmt: skip
_ABSENT = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
_DOWN = frozenset({
    KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
})  # fmt: skip
LEADERLESS = frozenset({KafkaError.LEADER_NOT_AVAILABLE, KafkaError._NOENT})
"""Of one partition, and of all that were asked about (rd_kafka_ListOffsets)."""

GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})

_PASSING = (
    GONE
    | LEADERLESS
    | {
        KafkaError._TRANSPORT,  # the connection was lost: librdkafka asks again for offsets only
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
    }
)


_REFUSALS = {KafkaError._AUTHENTICATION, KafkaError._SSL}
_SAID_BY_TLS = "SSL alert"
"""Stands in the text of a lost connection where the broker did not take the client's certificate."""


_IN_FLIGHT_SECONDS = 10.0
"""A connection that began with the login before may be refused so long after it was replaced."""


class _Login:
    """How a client logs in, and why a broker does not let it in: librdkafka tells that aside, and tries on.

    A login that is kept elsewhere and was replaced there is taken up, by the client's next try.
    """

    def __init__(self, access: KafkaSettings | None) -> None:
        self._access = access if access and access.username else None
        self._used = self._credentials()
        self._replaced_at = -_IN_FLIGHT_SECONDS
        self.refusal = ""

    def __call__(self, error: KafkaError) -> None:
        if error.code() in _REFUSALS or _SAID_BY_TLS in error.str():
            self.refusal = error.str().rstrip(".")

    def follow(self, client: AdminClient | Consumer) -> bool:
        """Tells the client its login, where that is another one now; whether it is."""
        now = self._credentials()
        if now == self._used:
            return False
        client.set_sasl_credentials(*now)
        self._used, self.refusal, self._replaced_at = now, "", time.monotonic()
        return True

    def is_refused(self, client: AdminClient | Consumer) -> bool:
        """Whether a broker does not let it in."""
        client.poll(0)  # librdkafka hands over its errors to a poll
        return bool(self.refusal)

    def mend(self, client: AdminClient | Consumer) -> bool:
        """Reads the login again from its source, after a refusal.

        Returns:
            Whether the refusal is of a login before this one.
        """
        if not self.is_refused(client) or not self._access:
            return False
        read_anew(self._access.username, self._access.password)
        if self.follow(client):
            return True
        if recent := time.monotonic() - self._replaced_at < _IN_FLIGHT_SECONDS:
            self.refusal = ""
        return recent

    def _credentials(self) -> tuple[str, str]:
        access = self._access
        return (revealed(access.username) or "", revealed(access.password) or "") if access else ("", "")


class Admin(AdminClient):
    """An admin client that knows whom it asks, and why it was refused."""

    def __init__(self, config: Mapping[str, str | int | bool], access: KafkaSettings | None = None) -> None:
        self.servers = str(config.get("bootstrap.servers", ""))
        self.login = _Login(access)
        super().__init__(dict[str, Any](config, error_cb=self.login))


class Reader(Consumer):
    """A consumer that knows whom it asks, and why it was refused."""

    def __init__(self, config: Mapping[str, str | int | bool], access: KafkaSettings | None = None) -> None:
        self.servers = str(config.get("bootstrap.servers", ""))
        self.login = _Login(access)
        super().__init__(dict[str, Any](config, error_cb=self.login))


def client_config(settings: Settings) -> dict[str, Any]:
    """What every librdkafka client of this environment starts from."""
    return {
        "bootstrap.servers": settings.kafka.bootstrap_servers,
        "client.id": "frazil",
        "socket.timeout.ms": "10000",
        "socket.connection.setup.timeout.ms": "5000",
        "reconnect.backoff.max.ms": "1000",
        # librdkafka writes to stderr by itself; what matters comes back as an error and is raised.
        "log_level": "2",
        **librdkafka_access(settings.kafka, settings.aws),
        **settings.kafka.client,
    }


_REFRESHED = {"topic.metadata.refresh.interval.ms": 10_000}
"""Questions go to whom the brokers called the controller. Where that one died, a client that holds no topic
looks for another at this interval only: by default all questions were in vain for five minutes."""


def admin_client(settings: Settings) -> Admin:
    """A client for questions about topics. Keep it while its futures are open."""
    return Admin({**_REFRESHED, **client_config(settings)}, settings.kafka)


def consumer(settings: Settings, **extra: str | int | bool) -> Reader:
    """A consumer outside any group's work: it is assigned, commits nothing, reads committed records.

    Further librdkafka settings are given as `**{"fetch.wait.max.ms": 10}`.
    """
    config: dict[str, str | int | bool] = {
        **client_config(settings),
        "group.id": settings.kafka.group,  # librdkafka wants one, and asks for its coordinator
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 20,  # the default of 1000 reads three times slower
    }
    return Reader({**config, **extra}, settings.kafka)


def kafka_error(error: KafkaError, where: str, servers: str = "") -> FrazilError:
    """An error of librdkafka as one of ours, at this topic and partition; `servers` are who was asked."""
    text = error.str().rstrip(".")
    refusal = _refusal(error.code(), text, where) or _outage(error, f"{where}: {text}", servers)
    return refusal or ConfigureError(f"Kafka says: {text}.", where=where, todo="Fix what Kafka names.")


def _refusal(code: int, text: str, where: str) -> FrazilError | None:
    """What a broker says of the topic, or of who asks."""
    if code in _ABSENT:
        return MissingError("Kafka does not know this topic.", where=where, todo="Make the topic first.")
    if code in _UNKNOWN_CALLER:
        return _locked_out(text, where)
    if code in _NOT_ALLOWED:
        return NotAllowedError(
            f"Kafka does not allow it: {text}.",
            where=where,
            meaning=STAYS,
            todo="`frazil doctor` says which right is missing, and how it is given.",
        )
    return None


def _outage(error: KafkaError, where: str, servers: str) -> PartDownError | None:
    """What keeps brokers, or the client, from answering."""
    if error.code() in LEADERLESS:
        return PartDownError(
            "No broker leads a partition.",
            where=where,
            meaning=STAYS,
            todo="Start the brokers that are down, then try again.",
        )
    if error.fatal() or error.code() == KafkaError._FATAL:
        return PartDownError(
            "Kafka's client has given itself up.",
            where=where,
            meaning=STAYS,
            todo="Try again: another one is opened.",
        )
    if error.code() in _DOWN or error.retriable():
        return PartDownError(
            "Kafka does not answer.",
            where=where,
            meaning=STAYS,
            todo=f"{to_start(servers)} Or fix FRAZIL_KAFKA__BOOTSTRAP_SERVERS; brokers that want TLS, and "
            "are not asked for it, do not answer either (FRAZIL_KAFKA__TLS).",
        )
    return None


@contextmanager
def kafka_errors(where: str, client: AdminClient | Consumer | None = None) -> Iterator[None]:
    """Turns librdkafka's exceptions into ours; a client that was refused says why nothing came."""
    try:
        yield
    except KafkaException as e:
        if check_access(client, where):
            raise _replaced(where) from None
        servers = client.servers if isinstance(client, Admin | Reader) else ""
        raise kafka_error(e.args[0], where, servers) from None


def asked(where: str, client: AdminClient, ask: Callable[[], T]) -> T:
    """What a question is answered.

    It is put again while what the brokers say may pass, for five seconds, and where the client's login had
    been replaced.

    Raises:
        FrazilError: What `kafka_error` makes of the last answer.
    """
    if isinstance(client, Admin):
        client.login.follow(client)

    def again(error: Exception) -> bool:
        return is_passing(error) and not (isinstance(client, Admin) and client.login.is_refused(client))

    waits = {"wait_initial": 0.05, "wait_max": 0.5, "wait_jitter": 0.05}
    patient = stamina.retry(on=again, attempts=50, timeout=5, **waits)(ask)
    with kafka_errors(where, client):
        try:
            return patient()
        except KafkaException:
            if not check_access(client, where):
                raise
        return patient()


def is_passing(error: Exception) -> bool:
    """Whether it may pass within moments.

    A topic was just made or deleted, a broker came or went, or a connection was lost.
    """
    return isinstance(error, KafkaException) and error.args[0].code() in _PASSING


def check_access(client: AdminClient | Consumer | None, where: str) -> bool:
    """Raises ConfigureError where a broker has refused this login; true where it refused the one before."""
    if not isinstance(client, Admin | Reader):
        return False
    replaced = client.login.mend(client)
    if client.login.refusal:
        raise _locked_out(client.login.refusal, where) from None
    return replaced


def _replaced(where: str) -> PartDownError:
    return PartDownError(
        "Kafka refused a login that was replaced meanwhile.",
        where=where,
        meaning="Nobody knows whether the call was done.",
        todo="Try again: the new login is read.",
    )


def _locked_out(text: str, where: str) -> ConfigureError:
    return ConfigureError(
        f"Kafka gives no access: {text}.",
        where=where,
        meaning=STAYS,
        todo="Fix FRAZIL_KAFKA__... in the settings, see docs/connect.md.",
    )
