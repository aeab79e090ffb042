"""LF-tags of Lake Formation on a Glue table: those tags of its spec that the settings name.

Grants go by them, so that a table has them before it shows newer rows. Lake Formation may write them in small
letters, so that capitals are none here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from frazil.connections import Connections
from frazil.errors import ConfigureError
from frazil.publishing.glue_answers import MEANING, Again, ask, send
from frazil.publishing.labels import LF_TAG, Labels
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable


def lf_tags_of(spec: AnyTable, settings: Settings) -> dict[str, str]:
    """By the key of each tag that the settings name the spec's value; empty where it has none."""
    of_spec = {name.lower(): value.lower() for name, value in spec.tags.items()}
    keys = (key.strip().lower() for key in settings.glue.lf_tags.split(","))
    return {key: of_spec.get(key, "") for key in keys if key}


@dataclass(frozen=True, slots=True)
class LfTags:
    """Those of one table.

    Args:
        database: Of Glue.
        table: Its name there.
        wanted: The values that it should have, by key; empty: none.
        catalog_id: The account of the catalog; empty: the caller's own.
    """

    database: str
    table: str
    wanted: Mapping[str, str]
    catalog_id: str = ""

    @property
    def labels(self) -> Labels:
        """What the table should say of itself."""
        return _labels(self.wanted)

    def read(self, connections: Connections) -> Labels:
        """What it says of itself, for each key that is wanted; nobody is asked where no key is."""
        return _labels(self._shown(connections.lake_formation)) if self.wanted else {}

    def keep(self, connections: Connections) -> None:
        """Adds the tags that have another value, and removes those that the spec does not have.

        Raises:
            Again: Another one was quicker, or an answer was lost.
            ConfigureError: Lake Formation has no such tag, or no such value of it.
            NotAllowedError: ASSOCIATE on a tag is missing, or a right of IAM.
        """
        if not self.wanted:
            return
        client = connections.lake_formation
        shown = self._shown(client)
        new = {key: value for key, value in self.wanted.items() if value and shown[key] != value}
        gone = {key: value for key, value in shown.items() if value and not self.wanted[key]}
        if new:
            send(client, partial(self._change, client.add_lf_tags_to_resource, new))
        if gone:
            send(client, partial(self._change, client.remove_lf_tags_from_resource, gone))

    def _shown(self, client: Any) -> dict[str, str]:
        question = partial(client.get_resource_lf_tags, ShowAssignedLFTags=True, **self._named)
        answer = ask(lambda: dict(_pairs(question().get("LFTagsOnTable") or ())))
        return {key: answer.get(key, "") for key in self.wanted}

    def _change(self, call: Any, tags: Mapping[str, str]) -> None:
        pairs = [{"TagKey": key, "TagValues": [value]} for key, value in tags.items()]
        if failures := call(LFTags=pairs, **self._named).get("Failures"):
            raise _refused(failures[0], f"{self.database}.{self.table}")

    @property
    def _named(self) -> dict[str, Any]:
        account = {"CatalogId": self.catalog_id} if self.catalog_id else {}
        table = {**account, "DatabaseName": self.database, "Name": self.table}
        return {**account, "Resource": {"Table": table}}


def _labels(tags: Mapping[str, str]) -> Labels:
    return {f"{LF_TAG}{key}": value for key, value in tags.items()}


def _pairs(tags: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(str(tag["TagKey"]).lower(), str(tag["TagValues"][0]).lower()) for tag in tags]


def _refused(failure: Mapping[str, Any], table: str) -> ConfigureError | Again:
    """The first failure of a request, none of whose tags may be taken for done."""
    error, tag = failure["Error"], failure["LFTag"]
    code, name = str(error.get("ErrorCode")), f"{tag['TagKey']}={tag['TagValues'][0]}"
    if code == "ConcurrentModificationException":
        return Again()
    says = "has no" if code == "EntityNotFoundException" else "refuses the"
    return ConfigureError(
        f"Lake Formation {says} LF-tag {name}.",
        where=f"{table}: {code}: {error.get('ErrorMessage')!s:.300}",
        meaning=MEANING,
        todo="Let an administrator of the data lake make the tag with that value, and grant ASSOCIATE on it "
        "to Frazil's role; or take the tag out of the spec, or out of FRAZIL_GLUE__LF_TAGS.",
    )
