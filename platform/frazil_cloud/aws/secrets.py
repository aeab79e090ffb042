"""AWS Secrets Manager as the store of a deployment's secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from frazil.errors import ConfigureError
from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.aws.mark import tag_list
from frazil_cloud.resource import AnswerLost, NotYet


class _DoomedError(Exception):
    """The secret awaits its deletion: nobody can read it, and its name is blocked."""


@dataclass(frozen=True)
class SecretsManager:
    """Keeps the Protocol `SecretStore`."""

    aws: Aws

    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Writes a secret; makes it, or restores it, where it is missing. An equal one is left as it is."""
        if self.get(name) == dict(values):
            return
        text, api = json.dumps(dict(values)), self._api
        try:
            with _doomed():
                api.put_secret_value(SecretId=name, SecretString=text)
        except GoneError:
            self._create(name, text, tags)
        except _DoomedError:
            api.restore_secret(SecretId=name)
            api.put_secret_value(SecretId=name, SecretString=text)
            api.tag_resource(SecretId=name, Tags=tag_list(tags))

    def get(self, name: str) -> dict[str, str] | None:
        """The texts of a secret; None if there is none, or if it awaits its deletion."""
        return self._version(name, "AWSCURRENT")

    def pending(self, name: str) -> dict[str, str] | None:
        """The texts of the version that a rotation wrote; None if there is none."""
        return self._version(name, "AWSPENDING")

    def _version(self, name: str, stage: str) -> dict[str, str] | None:
        try:
            with _doomed():
                answer = self._api.get_secret_value(SecretId=name, VersionStage=stage)
        except (GoneError, _DoomedError):
            return None
        return _texts(name, answer.get("SecretString"))

    def delete(self, name: str) -> None:
        """Removes a secret at once, so that its name is free again; gone is fine."""
        with suppress(GoneError):
            try:
                self._delete(name)
            except _DoomedError:
                self._api.restore_secret(SecretId=name)
                self._delete(name)

    def _delete(self, name: str) -> None:
        with _doomed():
            self._api.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)

    def _create(self, name: str, text: str, tags: Mapping[str, str]) -> None:
        try:
            with _doomed():
                self._api.create_secret(Name=name, SecretString=text, Tags=tag_list(tags))
        except (ThereError, _DoomedError, AnswerLost) as e:  # names are unique: the next try finds it
            raise NotYet(f"the secret {name} was not seen: {e}") from None

    @property
    def _api(self) -> Any:
        return self.aws.client("secretsmanager")


@contextmanager
def _doomed() -> Iterator[None]:
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as e:
        if "deletion" in str(e) and e.response["Error"]["Code"] == "InvalidRequestException":
            raise _DoomedError(str(e)) from None
        raise


def _texts(name: str, text: str | None) -> dict[str, str]:
    """A secret's texts; the error names none of them."""
    try:
        return {str(key): str(value) for key, value in json.loads(text or "").items()}
    except (ValueError, AttributeError):
        raise ConfigureError(
            "A secret is no JSON object.",
            where=name,
            meaning="Nothing was changed.",
            todo="Bring its version before back (AWSPREVIOUS), or write it again. If the deployment made it, "
            "it may be deleted: `frazil deploy create` makes another, with a new key.",
        ) from None
