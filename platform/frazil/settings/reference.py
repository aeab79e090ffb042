"""Texts that are kept elsewhere: `env:NAME`, `file:PATH`, `aws-secret:NAME#key`, `aws-ssm:NAME`."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil.settings.files import expanded

if TYPE_CHECKING:
    from botocore.session import Session

_SECONDS = 10

KEPT_SECONDS = 300.0
"""How long what was read is good; less than a key that was replaced still works (docs/cloud.md)."""

_RESTING_SECONDS = 1.0  # a login that is refused for good must not ask a store at every try

_IN_KEY = re.compile(r"\{([^{}]+)\}")


class Keep:
    """What the references of one profile said, kept for a while; parts of one secret fit each other.

    Args:
        identity: Who asks AWS; None: AWS' own chain.
    """

    def __init__(self, identity: Callable[[], Session] | None = None) -> None:
        self._identity = identity
        self._answers: dict[tuple[str, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def text(self, source: str, name: str, oldest: float | None = None) -> str:
        """What a source says of a name, `oldest` seconds ago at most.

        Raises ValueError where it was never read. Later what was read before stands until it can be read.
        """
        with self._lock:
            text, at = self._answers.get((source, name), ("", 0.0))
            now = time.monotonic()
            if not at or now - at >= (KEPT_SECONDS if oldest is None else oldest):
                try:
                    text = _SOURCES[source](name, self._identity)
                except ValueError:
                    if not at:
                        raise
                self._answers[source, name] = text, now
            return text


KEEP: ContextVar[Keep | None] = ContextVar("KEEP", default=None)
"""Where references are looked up while settings are read; None: each on its own, by AWS' own chain."""


@dataclass(frozen=True)
class Reference:
    """Where a text is kept.

    Args:
        key: In a secret that is a JSON object. `{other}` in it stands for what the secret says under
            `other`: so one reference follows the number of the key that is in use.
    """

    source: str
    name: str
    key: str
    keep: Keep

    def text(self, oldest: float | None = None) -> str:
        """The text, read again if older than `oldest` seconds; raises ValueError if it can't be read."""
        whole = self.keep.text(self.source, self.name, oldest)
        if not self.key:
            return whole
        try:
            values = json.loads(whole)
            return str(values[_IN_KEY.sub(lambda match: str(values[match[1]]), self.key)])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"the secret {self.name} is no JSON object with a key {self.key}") from None

    def read_anew(self) -> None:
        """Reads it from its source, whatever is kept."""
        self.text(_RESTING_SECONDS)


def is_reference(text: str) -> bool:
    """Whether a text says where another one is kept."""
    source, _, place = text.partition(":")
    return source in _SOURCES and bool(place)


def reference(text: str) -> Reference | None:
    """The reference that a text is; None where it stands for itself."""
    if not is_reference(text):
        return None
    source, _, place = text.partition(":")
    name, _, key = place.partition("#") if source == "aws-secret" else (place, "", "")
    return Reference(source, name, key, KEEP.get() or Keep())


def _from_environment(name: str, _: object) -> str:
    if name not in os.environ:
        raise ValueError(f"there is no environment variable {name}")
    return os.environ[name]


def _from_file(path: str, _: object) -> str:
    try:
        return expanded(Path(path)).read_text(encoding="utf-8").strip()
    except OSError as e:
        raise ValueError(f"{path} can't be read: {e.strerror}") from None


def _from_secrets_manager(name: str, identity: Callable[[], Session] | None) -> str:
    return str(_asked(identity, "secretsmanager", "get_secret_value", SecretId=name)["SecretString"])


def _from_parameter_store(name: str, identity: Callable[[], Session] | None) -> str:
    answer = _asked(identity, "ssm", "get_parameter", Name=name, WithDecryption=True)
    return str(answer["Parameter"]["Value"])


def _asked(
    identity: Callable[[], Session] | None, service: str, call: str, **arguments: Any
) -> dict[str, Any]:
    """The answer of an AWS service."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS)
    try:
        client = _session(identity).create_client(service, config=limits)
        answer: dict[str, Any] = getattr(client, call)(**arguments)
    except (BotoCoreError, ClientError) as e:
        raise ValueError(f"{service} does not give it: {e}") from None
    return answer


def _session(identity: Callable[[], Session] | None) -> Session:
    """Who asks; an identity whose own keys are kept at AWS is asked for by AWS' own chain."""
    from botocore.session import Session

    before = KEEP.set(None)
    try:
        return identity() if identity else Session()
    finally:
        KEEP.reset(before)


_SOURCES: dict[str, Callable[[str, Callable[[], Session] | None], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "aws-secret": _from_secrets_manager,
    "aws-ssm": _from_parameter_store,
}
