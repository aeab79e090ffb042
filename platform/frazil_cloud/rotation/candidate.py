"""A secret whose next version is written and proved before anybody is sent to it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from frazil.errors import ConfigureError, DifferentError, MissingError
from frazil_cloud.aws.client import Aws, GoneError
from frazil_cloud.patience import Patience
from frazil_cloud.resource import NotYet

CURRENT, PENDING = "AWSCURRENT", "AWSPENDING"


@dataclass(frozen=True)
class Version:
    """One version of a secret, with the store's own id and date."""

    id: str
    created: datetime
    values: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class StagedSecret:
    """A secret of Secrets Manager. Who asks for it without a stage gets the current version."""

    aws: Aws
    name: str

    def current(self) -> Version:
        """The version that everybody reads.

        Raises:
            MissingError: There is no such secret.
        """
        try:
            answer = self._api.get_secret_value(SecretId=self.name, VersionStage=CURRENT)
        except GoneError:
            raise MissingError(
                "There is no secret to rotate.", where=self.name, meaning="Nothing was changed.",
                todo="`frazil deploy create` makes it.",
            ) from None  # fmt: skip
        return Version(
            answer["VersionId"], answer["CreatedDate"], _values(self.name, answer.get("SecretString"))
        )

    def write_pending(self, values: Mapping[str, str], patience: Patience) -> str:
        """Writes the next version, which nobody reads yet; its id."""
        # The token names the version: a try whose answer was lost makes no second one.
        arguments = {
            "SecretId": self.name,
            "ClientRequestToken": str(uuid.uuid4()),
            "VersionStages": [PENDING],
        }
        text = json.dumps(dict(values))
        return str(
            patience.wait(lambda: self._api.put_secret_value(**arguments, SecretString=text))["VersionId"]
        )

    def make_current(self, version: str, instead_of: str, patience: Patience) -> None:
        """Sends everybody to a version.

        Raises:
            DifferentError: Another version than `instead_of` is current by now.
        """
        patience.wait(lambda: self._move(version, instead_of))

    def _move(self, version: str, instead_of: str) -> None:
        current = self.current().id  # a try whose answer was lost may have done it
        if current == version:
            return
        if current != instead_of:
            raise DifferentError(
                "Somebody else replaced the secret meanwhile.", where=self.name,
                meaning="Theirs stands; the key that was made here is dropped.",
                todo="Nothing, if it was another rotation.",
            )  # fmt: skip
        versions = {"MoveToVersionId": version, "RemoveFromVersionId": instead_of}
        try:
            self._api.update_secret_version_stage(SecretId=self.name, VersionStage=CURRENT, **versions)
        except ClientError as e:
            if e.response["Error"]["Code"] != "InvalidParameterException":
                raise
            # The stage has moved since it was read: by a try of ours without an answer, or by somebody else.
            raise NotYet(str(e)) from None

    @property
    def _api(self) -> Any:
        return self.aws.client("secretsmanager")


def _values(name: str, text: str | None) -> dict[str, str]:
    try:
        return {str(key): str(value) for key, value in json.loads(text or "").items()}
    except (ValueError, AttributeError):
        raise ConfigureError(
            "A secret is no JSON object.", where=name, meaning="Nothing was changed.",
            todo="Bring its version before back (AWSPREVIOUS), or write it again.",
        ) from None  # fmt: skip
