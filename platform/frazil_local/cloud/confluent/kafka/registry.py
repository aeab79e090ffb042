"""The plane of a schema registry: a gate that knows its keys, before the registry of the stack."""

from __future__ import annotations

from urllib.parse import unquote

import requests

from frazil.settings.secret import revealed
from frazil_local.cloud.confluent.access import ADMINS, caller, has_role
from frazil_local.cloud.confluent.kind import Call
from frazil_local.cloud.confluent.organization import REGISTRIES, Organization
from frazil_local.cloud.confluent.refusals import Refusal

_SECONDS = 30

Sent = tuple[int, bytes]
"""Status and body, as the registry said them."""


def admit(organization: Organization, call: Call) -> None:
    """Refuses who has no key of this registry, or no role on what it asks for."""
    id_ = call.params["registry"]
    owner = caller(organization, call.authorization, id_)
    registry = organization.of(REGISTRIES).get(id_)
    if registry is None:
        raise Refusal(404, "Schema Registry not found")
    environment = registry.body["spec"]["environment"]["id"]
    crn = f"{organization.crn}/environment={environment}/schema-registry={id_}"
    parts = call.params["rest"].split("/")
    if parts == ["subjects"] and call.method == "GET":
        return
    subject = unquote(parts[1]) if parts[0] == "subjects" and len(parts) > 1 else "*"
    writes = call.method in ("POST", "PUT", "DELETE") and parts[0] in ("subjects", "config", "mode")
    role = (
        "DeveloperWrite"
        if writes and parts[-1] == "versions"
        else "DeveloperManage"
        if writes
        else "DeveloperRead"
    )
    if len(parts) == 2 and call.method == "POST":  # a look-up of a schema
        role = "DeveloperRead"
    if not has_role(organization, owner, (*ADMINS, "ResourceOwner", role), f"{crn}/subject={subject}"):
        raise Refusal(403, f"User is denied operation on subject {subject}: {role}", number=40301)


def forward(organization: Organization, call: Call, query: str, body: bytes) -> Sent:
    """Asks the registry behind the gate; one of nothing but no subjects, where there is none."""
    if organization.places.registry is None:
        if call.params["rest"] == "subjects":
            return 200, b"[]"
        raise Refusal(404, "Subject not found", number=40401)
    place = organization.places.registry
    address = f"{place.url}/{call.params['rest']}" + (f"?{query}" if query else "")
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"} if body else {}
    user, _, password = (revealed(place.user_info) or "").partition(":")
    answer = requests.request(
        call.method, address, data=body or None, headers=headers, timeout=_SECONDS,
        auth=(user, password) if user else None, verify=str(place.ca) if place.ca else True,
    )  # fmt: skip
    return answer.status_code, answer.content
