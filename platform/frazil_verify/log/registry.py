"""Schemas of a registry by their ids, and what they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

import requests

from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Registry

_SECONDS = 30
_APICURIO, _PAGE = "/apis/registry/v3", 500
"""Where Apicurio's own API is beside Confluent's, and versions that it gives at once."""


@dataclass(frozen=True)
class Schema:
    """A schema's text, its kind (`AVRO`, `JSON`, `PROTOBUF`), and the schemas that it refers to, by name."""

    id: int
    kind: str
    text: str
    references: Mapping[str, Schema]


Ask = Callable[[str], Any]
"""What a registry answers to a path; None where it has nothing there. Apicurio's own paths begin with `/`."""


@dataclass
class Schemas:
    """The schemas that were asked for so far."""

    ask: Ask
    _known: dict[int, Schema | None] = field(default_factory=dict)

    def by_id(self, number: int) -> Schema | None:
        """The schema of an id; None where the registry does not know it."""
        if number not in self._known:
            schema = self.ask(f"schemas/ids/{number}")
            self._known[number] = None if schema is None else self._schema(number, schema)
        return self._known[number]

    def newest(self, subject: str) -> Schema:
        """The newest version of a subject.

        Raises:
            UnverifiableError: There is no such subject.
        """
        version = self.ask(f"subjects/{quote(subject, safe='')}/versions/latest")
        if version is None:
            raise UnverifiableError(f"the registry has no subject {subject}")
        return self._schema(version["id"], version)

    def ids(self, subject: str) -> Mapping[int, str]:
        """The ids of all versions of a subject, those too that were deleted softly, and their GUIDs.

        A GUID is empty where the registry tells none.
        """
        path = f"subjects/{quote(subject, safe='')}/versions"
        versions = self.ask(f"{path}?deleted=true") or ()
        schemas = [self.ask(f"{path}/{int(each)}?deleted=true") for each in versions]
        return {each["id"]: each.get("guid") or "" for each in schemas if each is not None}

    def global_ids(self, subject: str) -> Mapping[int, int]:
        """Apicurio's global ids of a subject's versions, and the ids of their contents; none elsewhere."""
        path = f"{_APICURIO}/groups/default/artifacts/{quote(subject, safe='')}/versions"
        known: dict[int, int] = {}
        read, count = 0, 1
        while read < count:
            answer = self.ask(f"{path}?offset={read}&limit={_PAGE}")
            if not answer or not answer["versions"]:
                break
            known |= {int(each["globalId"]): int(each["contentId"]) for each in answer["versions"]}
            read, count = read + len(answer["versions"]), int(answer["count"])
        return known

    def _schema(self, number: int, registered: Mapping[str, Any]) -> Schema:
        references = {each["name"]: self._reference(each) for each in registered.get("references") or ()}
        return Schema(number, registered.get("schemaType") or "AVRO", registered["schema"], references)

    def _reference(self, reference: Mapping[str, Any]) -> Schema:
        subject, version = quote(reference["subject"], safe=""), int(reference["version"])
        version_found = self.ask(f"subjects/{subject}/versions/{version}?deleted=true")
        if version_found is None:
            raise UnverifiableError(f"the registry lacks version {version} of {reference['subject']}")
        return self._schema(version_found["id"], version_found)


def schemas_of(registry: Registry) -> Schemas:
    """The schemas of a registry, asked by HTTP."""
    return Schemas(partial(_answer, registry))


def _answer(registry: Registry, path: str) -> Any:
    auth = (registry.user, registry.password.get_secret_value()) if registry.user else None
    root, apis, _ = registry.url.partition("/apis/")
    if path.startswith("/") and not apis:
        return None
    url = root + path if path.startswith("/") else f"{registry.url.rstrip('/')}/{path}"
    try:
        answer = requests.get(url, auth=auth, timeout=_SECONDS, verify=registry.ca or True)
    except requests.RequestException as e:
        raise UnverifiableError(f"the registry does not answer: {type(e).__name__}") from e
    if answer.status_code == requests.codes.not_found:
        return None
    if not answer.ok:
        raise UnverifiableError(f"the registry answers {answer.status_code} to {path}")
    return answer.json()
