"""Ways to tell people: a webhook, Slack, e-mail. Each call has a time limit, and no error names a secret."""

from __future__ import annotations

import html
import smtplib
import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from typing import Any, Protocol

import requests

from frazil.alarms.journal import Alarm, Journal
from frazil.deadline import call_all
from frazil.settings.secret import revealed
from frazil.settings.systems.alarms import AlarmSettings, MailSettings

_SECONDS = 10  # for each answer of a server
_ALL_SECONDS = 20.0  # for all of a message: a sensor must end within Dagster's minute
_SHOWN = 20  # alarms that a message for people lists; the webhook gets all


@dataclass(frozen=True, slots=True)
class Message:
    """What one look found, for one channel."""

    cluster: str
    alarms: Sequence[Alarm]

    @property
    def title(self) -> str:
        """How many of which kind."""
        counts = Counter(alarm.word for alarm in self.alarms)
        return f"Frazil {self.cluster}: " + ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))

    @property
    def text(self) -> str:
        """The alarms for people."""
        more = len(self.alarms) - _SHOWN
        paragraphs = [*map(_paragraph, self.alarms[:_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
        return "\n\n".join(paragraphs)


def _paragraph(alarm: Alarm) -> str:
    since = datetime.fromtimestamp(alarm.since, UTC)
    head = f"{alarm.word.upper()} {alarm.cause.name}: {alarm.subject}, since {since:%F %R} UTC"
    return head if alarm.word == "over" else f"{head}\n{alarm.cause.text}"


class Channel(Protocol):
    """One way to tell people."""

    def send(self, message: Message) -> None:
        """Tells it.

        Raises:
            OSError: It was not told, or nobody knows whether it was.
        """


@dataclass(frozen=True, slots=True)
class Post:
    """An address that takes JSON by POST."""

    address: str = field(repr=False)  # a secret: anyone who knows it can post there
    body: Callable[[Message], Mapping[str, Any]]

    def send(self, message: Message) -> None:
        """Posts it; another place, to which the answer may point, is told nothing."""
        body = self.body(message)
        answer = requests.post(self.address, json=body, timeout=_SECONDS, allow_redirects=False)
        if answer.status_code // 100 != 2:
            raise OSError(f"the answer was {answer.status_code}")


def _for_programs(message: Message) -> Mapping[str, Any]:
    """One with the same `key`, `state` and `since` was sent before."""
    alarms = list(map(_row, message.alarms))
    return {"cluster": message.cluster, "title": message.title, "alarms": alarms}


def _row(alarm: Alarm) -> dict[str, Any]:
    cause = asdict(alarm.cause)
    return {
        "key": f"{alarm.subject}: {alarm.cause.name}",
        "state": alarm.word,
        **asdict(alarm.subject),
        "cause": cause.pop("name"),
        **cause,
        "since": alarm.since,
    }


def _for_slack(message: Message) -> Mapping[str, Any]:
    return {"text": html.escape(f"{message.title}\n\n{message.text}", quote=False)}


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail."""

    mail: MailSettings

    def send(self, message: Message) -> None:
        """Sends the alarms for people."""
        letter = EmailMessage()
        letter["Subject"], letter["From"], letter["To"] = message.title, self.mail.sender, self.mail.to
        letter.set_content(message.text)
        trusted = ssl.create_default_context()
        with self._server(trusted) as server:
            if self.mail.security == "starttls":
                server.starttls(context=trusted)
            if self.mail.user:
                server.login(self.mail.user, revealed(self.mail.password) or "")
            server.send_message(letter)

    def _server(self, trusted: ssl.SSLContext) -> smtplib.SMTP:
        host, port = self.mail.host, self.mail.port
        if self.mail.security == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=trusted)
        return smtplib.SMTP(host, port, timeout=_SECONDS)


def channels_of(settings: AlarmSettings) -> Mapping[str, Channel]:
    """The channels that are set up, by their name."""
    channels: dict[str, Channel] = {}
    if webhook := revealed(settings.webhook):
        channels["webhook"] = Post(webhook, _for_programs)
    if slack := revealed(settings.slack):
        channels["slack"] = Post(slack, _for_slack)
    if settings.mail:
        channels["mail"] = Letter(settings.mail)
    return channels


def tell(
    journal: Journal, channels: Mapping[str, Channel], cluster: str, now: float, seconds: float = _ALL_SECONDS
) -> dict[str, str]:
    """Tells each channel what it has not heard yet.

    Returns:
        What came of it, by channel. What a channel could not be told it is told the next time.
    """
    owed = {name: alarms for name in channels if (alarms := journal.owed(name, now))}
    calls = {name: partial(channels[name].send, Message(cluster, alarms)) for name, alarms in owed.items()}
    outcome: dict[str, str] = {}
    for name, error in call_all(calls, seconds).items():
        outcome[name] = f"not told: {_reason(error)}" if error else f"told {len(owed[name])}"
        if error is None:
            journal.note(name, owed[name], now)
    journal.forget(channels)
    return outcome


def _reason(error: Exception) -> str:
    """Libraries put addresses, and with them secrets, into their errors: only ours are shown."""
    return str(error) if type(error) is OSError else type(error).__name__
