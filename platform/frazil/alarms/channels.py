"""Ways to tell people: a webhook, Slack, e-mail. Each call has a time limit, and no error names a secret."""

from __future__ import annotations

import html
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any, Protocol

import requests

from frazil.alarms.journal import Alarm, Journal
from frazil.settings.alarms import AlarmSettings, MailSettings
from frazil.settings.secret import revealed

_SECONDS = 10
_SHOWN = 20  # alarms that a message for people lists; the webhook gets all

_LIGHT = {"new": "NEW", "still": "STILL", "over": "OVER"}


@dataclass(frozen=True, slots=True)
class Message:
    """What one look found, for one channel."""

    cluster: str
    alarms: Sequence[Alarm]

    @property
    def title(self) -> str:
        """How many of which kind."""
        counts = {word: sum(alarm.word == word for alarm in self.alarms) for word in _LIGHT}
        return f"Frazil {self.cluster}: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n)

    @property
    def text(self) -> str:
        """The alarms for people."""
        more = len(self.alarms) - _SHOWN
        told = [*map(_paragraph, self.alarms[:_SHOWN]), *([f"and {more} more"] if more > 0 else [])]
        return "\n\n".join(told)

    @property
    def document(self) -> dict[str, Any]:
        """The alarms for programs. One with the same `key`, `state` and `since` was sent before."""
        return {"cluster": self.cluster, "title": self.title, "alarms": list(map(_row, self.alarms))}


def _paragraph(alarm: Alarm) -> str:
    since = datetime.fromtimestamp(alarm.since, UTC)
    head = f"{_LIGHT[alarm.word]} {alarm.cause.name}: {alarm.subject}, since {since:%F %R} UTC"
    return head if alarm.word == "over" else f"{head}\n{alarm.cause.text}"


def _row(alarm: Alarm) -> dict[str, Any]:
    return {
        "key": f"{alarm.subject}: {alarm.cause.name}",
        "state": alarm.word,
        **asdict(alarm.subject),
        "cause": alarm.cause.name,
        "severity": alarm.cause.severity,
        "text": alarm.cause.text,
        "since": alarm.since,
    }


class Channel(Protocol):
    """One way to tell people."""

    def send(self, message: Message) -> None:
        """Tells it.

        Raises:
            OSError: It was not told, or nobody knows whether it was.
        """


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that takes JSON by POST."""

    address: str

    def send(self, message: Message) -> None:
        """Posts the alarms for programs."""
        _post(self.address, message.document)


@dataclass(frozen=True, slots=True)
class Slack:
    """An incoming webhook of Slack."""

    address: str

    def send(self, message: Message) -> None:
        """Posts the alarms for people."""
        text = html.escape(f"{message.title}\n\n{message.text}", quote=False)
        _post(self.address, {"text": text})


def _post(address: str, document: Mapping[str, Any]) -> None:
    answer = requests.post(address, json=document, timeout=_SECONDS, allow_redirects=False)
    if answer.status_code // 100 != 2:
        raise OSError(f"the answer was {answer.status_code}")


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


def channels_of(access: AlarmSettings) -> Mapping[str, Channel]:
    """The channels that are set up, by their name."""
    webhook, slack = revealed(access.webhook), revealed(access.slack)
    found = {
        "webhook": Webhook(webhook) if webhook else None,
        "slack": Slack(slack) if slack else None,
        "mail": Letter(access.mail) if access.mail else None,
    }
    return {name: channel for name, channel in found.items() if channel}


def tell(journal: Journal, channels: Mapping[str, Channel], cluster: str, now: float) -> dict[str, str]:
    """Tells each channel what it has not heard yet.

    Returns:
        What came of it, by channel. What a channel could not be told it is told the next time.
    """
    outcome: dict[str, str] = {}
    for name, channel in channels.items():
        if not (alarms := journal.owed(name, now)):
            continue
        try:
            channel.send(Message(cluster, alarms))
        except (OSError, ValueError) as e:
            outcome[name] = f"not told: {_reason(e)}"
        else:
            journal.note(name, alarms, now)
            outcome[name] = f"told {len(alarms)}"
    journal.forget(channels)
    return outcome


def _reason(error: Exception) -> str:
    """Libraries put addresses, and with them secrets, into their errors: only ours are shown."""
    return str(error) if type(error) is OSError else type(error).__name__
