"""Who asks, and what they may: API keys by plane, role bindings, and Kafka's ACLs."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Iterable

from frazil_local.cloud.confluent.organization import BINDINGS, CLUSTERS, KEYS, Json, Organization
from frazil_local.cloud.confluent.refusals import Refusal, forbidden

ADMINS = ("OrganizationAdmin", "EnvironmentAdmin", "CloudClusterAdmin")
CLOUD = "cloud"

_DEVELOPERS = {
    "DESCRIBE": ("DeveloperRead", "DeveloperWrite", "DeveloperManage"), "READ": ("DeveloperRead",),
    "WRITE": ("DeveloperWrite",), **dict.fromkeys(("CREATE", "DELETE", "ALTER"), ("DeveloperManage",)),
}  # fmt: skip
_IMPLIED = {"DESCRIBE": ("READ", "WRITE", "DELETE", "ALTER", "DESCRIBE")}


def caller(organization: Organization, authorization: str, plane: str) -> str:
    """The owner of the key that a request bears, if the key works on this plane by now."""
    key, _, secret = _basic(authorization).partition(":")
    key_object = organization.of(KEYS).get(key)
    if (
        key_object is None
        or key_object.body["spec"]["secret"] != secret
        or plane_of(key_object.body) != plane
    ):
        raise Refusal(401, "Unauthorized")
    if not organization.is_older(key_object, organization.delays.key_sync):
        raise Refusal(401, "Unauthorized")
    return str(key_object.body["spec"]["owner"]["id"])


_OF_REGIONS = (400, 404, 401)
"""What a region of Flink answers in turn to a key that it does not know yet."""


def region_caller(organization: Organization, authorization: str, plane: str) -> str:
    """The same in a region of Flink, which learns of keys later than others."""
    owner = caller(organization, authorization, plane)
    key_object = organization.of(KEYS)[_basic(authorization).partition(":")[0]]
    age = time.time() - key_object.born
    if age < organization.delays.flink_sync:
        raise Refusal(_OF_REGIONS[int(age * 10) % len(_OF_REGIONS)], "the API key is not known here")
    return owner


def plane_of(key: Json) -> str:
    """The plane that a key is for: the id of its resource; Flink's has an environment in it."""
    resource = key["spec"].get("resource") or {}
    place = str(resource.get("id", CLOUD))
    return f"{place}@{resource['environment']}" if place.startswith("aws.") else place


def has_role(organization: Organization, owner: str, roles: Iterable[str], crn: str) -> bool:
    """Whether a binding that is in force gives one of the roles on this object, or on what holds it."""
    wanted = set(roles)
    for stored in organization.of(BINDINGS).values():
        binding = stored.body
        covers = re.escape(binding["crn_pattern"]).replace(r"\*", "[^/]*") + "(/.*)?"
        if (
            binding["principal"] == f"User:{owner}"
            and binding["role_name"] in wanted
            and re.fullmatch(covers, crn)
            and organization.is_older(stored, organization.delays.rbac_sync)
        ):
            return True
    return False


def need(organization: Organization, owner: str, roles: Iterable[str], crn: str) -> None:
    """Refuses who has none of the roles on an object."""
    if not has_role(organization, owner, roles, crn):
        raise forbidden()


def cluster_crn(organization: Organization, cluster: str) -> str:
    """The name of a cluster."""
    spec = organization.of(CLUSTERS)[cluster].body["spec"]
    return f"{organization.crn}/environment={spec['environment']['id']}/cloud-cluster={cluster}"


def may(organization: Organization, owner: str, cluster: str, operation: str, kind: str, name: str) -> bool:
    """Whether roles or ACLs allow an operation on a topic, a group, a transactional id or the cluster."""
    crn = cluster_crn(organization, cluster)
    if has_role(organization, owner, ADMINS, crn):
        return True
    roles = ("ResourceOwner", *_DEVELOPERS.get(operation, ()))
    inside = f"{crn}/kafka={cluster}/{kind.lower().replace('_', '-')}={name}"
    return has_role(organization, owner, roles, inside) or _by_acl(
        organization, owner, cluster, operation, kind, name
    )


def _by_acl(
    organization: Organization, owner: str, cluster: str, operation: str, kind: str, name: str
) -> bool:
    enough = {*_IMPLIED.get(operation, (operation,)), "ALL"}
    for stored in organization.of(f"/kafka/v3/clusters/{cluster}/acls").values():
        acl = stored.body
        if (
            (acl["principal"], acl["resource_type"], acl["permission"]) == (f"User:{owner}", kind, "ALLOW")
            and acl["operation"] in enough
            and _covers(acl, name)
        ):
            return True
    return False


def _covers(acl: Json, name: str) -> bool:
    given = str(acl["resource_name"])
    if acl["pattern_type"] == "PREFIXED":
        return name.startswith(given)
    return given in ("*", name)


def _basic(authorization: str) -> str:
    kind, _, encoded = authorization.partition(" ")
    try:
        return base64.b64decode(encoded).decode() if kind == "Basic" else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""
