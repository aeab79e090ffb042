"""Secrets: shown nowhere, and followed where they are kept elsewhere and replaced there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, SecretStr, ValidatorFunctionWrapHandler, WrapValidator

from frazil.settings.reference import Reference, reference


class KeptSecret(SecretStr):
    """A secret that is kept elsewhere. Who asks gets what it is now, or was a few minutes ago."""

    def __init__(self, kept: Reference) -> None:
        self._kept = kept
        super().__init__(kept.text())

    def get_secret_value(self) -> str:
        """The secret; one that can't be read any more stands as it was."""
        with suppress(ValueError):
            self._secret_value = self._kept.text()
        return self._secret_value

    def read_anew(self) -> None:
        """Reads it from its source."""
        self._kept.read_anew()


class LoginName(str):
    """A name that changes with its password, such as an API key; as text it is what it was at first."""

    _kept: Reference

    @classmethod
    def of(cls, kept: Reference) -> LoginName:
        """The name that a reference tells."""
        name = cls(kept.text())
        name._kept = kept
        return name

    @property
    def now(self) -> str:
        """What it is now, or was a few minutes ago."""
        try:
            return self._kept.text()
        except ValueError:
            return self

    def read_anew(self) -> None:
        """Reads it from its source."""
        self._kept.read_anew()


def _secret(value: Any, read: ValidatorFunctionWrapHandler) -> SecretStr:
    kept = reference(value) if isinstance(value, str) else None
    secret: SecretStr = KeptSecret(kept) if kept else read(value)
    return secret


def _name(value: Any, read: ValidatorFunctionWrapHandler) -> str:
    if isinstance(value, LoginName):
        return value
    name: str = read(value)
    kept = reference(name)
    return LoginName.of(kept) if kept else name


Secret = Annotated[SecretStr, WrapValidator(_secret)]
"""A secret, or where it is kept: `env:NAME`, `file:PATH`, `aws-secret:NAME#key`, `aws-ssm:NAME`."""

Name = Annotated[str, WrapValidator(_name)]
"""A name that belongs to a secret, or where it is kept."""


def revealed(value: SecretStr | str | None) -> str | None:
    """What a client is told of a secret, or of a name; None where there is none."""
    if isinstance(value, LoginName):
        return value.now
    if isinstance(value, SecretStr):
        return value.get_secret_value() or None
    return value


def read_anew(*values: SecretStr | str | None) -> None:
    """Asks those who keep them; what stands for itself stays as it is."""
    for each in values:
        if isinstance(each, KeptSecret | LoginName):
            with suppress(ValueError):
                each.read_anew()


_SHORTEST = 4  # what is shorter stands in any text by chance


def conceal(text: str, settings: BaseModel) -> str:
    """The text, which may be JSON, with stars in the place of each secret that the settings hold."""
    for secret in sorted(_secrets(settings), key=len, reverse=True):
        text = text.replace(secret, "***").replace(json.dumps(secret)[1:-1], "***")
    return text


def _secrets(part: object) -> Iterator[str]:
    if isinstance(part, BaseModel | dict):
        for value in dict(part).values():
            yield from _secrets(value)
    elif isinstance(part, SecretStr) and len(part) >= _SHORTEST:
        yield part.get_secret_value()
