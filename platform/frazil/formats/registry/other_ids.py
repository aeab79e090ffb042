"""Ids that records name besides those of Confluent's protocol: Apicurio's global ones, and longer ones.

A schema has one id in that protocol, Apicurio's id of its content. In Apicurio each version of it has a
global id as well. Source: Apicurio's API v3, `ArtifactVersions`, and its `Legacy8ByteIdHandler` (3.3).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from frazil.errors import MALFORMED
from frazil.formats.protocol import WriterSchema

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_PAGE = 500
"""Most versions that Apicurio gives at once."""


def with_other_ids(
    client: RegistryClient, subject: str, versions: tuple[WriterSchema, ...]
) -> tuple[WriterSchema, ...]:
    """Versions of a subject with all ids that records may name them by."""
    known = _global_ids(client, subject)
    return tuple(_with_ids(client.long_ids, each, known.get(each.schema_id, ())) for each in versions)


def _with_ids(kind: str, version: WriterSchema, global_ids: tuple[int, ...]) -> WriterSchema:
    long_ids = {"none": (), "content": (version.schema_id,), "global": global_ids}[kind]
    return replace(version, global_ids=global_ids, long_ids=long_ids)


def _global_ids(client: RegistryClient, subject: str) -> dict[int, tuple[int, ...]]:
    """Global ids by the id of their content; none where the registry does not tell them.

    Records that name one are then bad, and the reason says so.
    """
    if client.apicurio is None:
        return {}
    from confluent_kafka.schema_registry.common._httpx_compat import httpx
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    by_content: defaultdict[int, list[int]] = defaultdict(list)
    path, read = f"groups/default/artifacts/{quote(subject, safe='')}/versions", 0
    try:
        while True:
            query = {"offset": read, "limit": _PAGE}
            answer: dict[str, Any] = client.apicurio._rest_client.get(path, query)
            for each in answer["versions"]:
                by_content[int(each["contentId"])].append(int(each["globalId"]))
            read += len(answer["versions"])
            if not answer["versions"] or read >= int(answer["count"]):
                break
    except (SchemaRegistryError, httpx.HTTPError, *MALFORMED):
        return {}
    return {content: tuple(sorted(ids)) for content, ids in by_content.items()}
