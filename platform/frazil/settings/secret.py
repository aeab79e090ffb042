"""Secrets, and where they are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, SecretStr

if TYPE_CHECKING:
    from botocore.session import Session

_SECONDS = 10

IDENTITY: ContextVar[Callable[[], Session] | None] = ContextVar("IDENTITY", default=None)
"""Who asks AWS for secrets while settings are read; None: AWS' own chain."""


def _from_environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"there is no environment variable {name}")
    return os.environ[name]


def _from_file(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except OSError as e:
        raise ValueError(f"{path} can't be read: {e.strerror}") from None


def _from_secrets_manager(place: str) -> str:
    name, _, key = place.partition("#")
    text = str(_asked("secretsmanager", "get_secret_value", SecretId=name)["SecretString"])
    if not key:
        return text
    try:
        return str(json.loads(text)[key])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"the secret {name} is no JSON object with a key {key}") from None


def _from_parameter_store(name: str) -> str:
    return str(_asked("ssm", "get_parameter", Name=name, WithDecryption=True)["Parameter"]["Value"])


def _asked(service: str, call: str, **arguments: Any) -> dict[str, Any]:
    """The answer of an AWS service."""
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS)
    try:
        client = _session().create_client(service, config=limits)
        answer: dict[str, Any] = getattr(client, call)(**arguments)
    except (BotoCoreError, ClientError) as e:
        raise ValueError(f"{service} does not give it: {e}") from None
    return answer


def _session() -> Session:
    """Who asks; an identity whose own keys are kept at AWS is asked for by AWS' own chain."""
    from botocore.session import Session

    given = IDENTITY.get()
    before = IDENTITY.set(None)
    try:
        return given() if given else Session()
    finally:
        IDENTITY.reset(before)


_SOURCES: dict[str, Callable[[str], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "aws-secret": _from_secrets_manager,
    "aws-ssm": _from_parameter_store,
}


def is_reference(text: str) -> bool:
    """Whether a text says where a secret is kept."""
    source, _, place = text.partition(":")
    return source in _SOURCES and bool(place)


def _looked_up(value: object) -> object:
    if not isinstance(value, str) or not is_reference(value):
        return value
    source, _, place = value.partition(":")
    return _SOURCES[source](place)


Secret = Annotated[SecretStr, BeforeValidator(_looked_up)]
"""A secret, or where it is kept: `env:NAME`, `file:PATH`, `aws-secret:NAME#key`, `aws-ssm:NAME`."""


def revealed(secret: SecretStr | None) -> str | None:
    """What a client is told of a secret; None where there is none."""
    return secret.get_secret_value() if secret else None


_SHORTEST = 4  # what is shorter stands in any text by chance


def conceal(text: str, settings: BaseModel) -> str:
    """The text, which may be JSON, with stars in the place of each secret that the settings hold."""
    for secret in sorted(_secrets(settings), key=len, reverse=True):
        text = text.replace(secret, "***").replace(json.dumps(secret)[1:-1], "***")
    return text


def _secrets(told: object) -> Iterator[str]:
    if isinstance(told, BaseModel | dict):
        for value in dict(told).values():
            yield from _secrets(value)
    elif isinstance(told, SecretStr) and len(told) >= _SHORTEST:
        yield told.get_secret_value()
