"""What the deployment's accounts may do besides: roles, ACLs and keys that others gave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from frazil.cloud.confluent import keys
from frazil.cloud.confluent.client import Json
from frazil.cloud.confluent.kafka import Acl, InCluster, marked_topics
from frazil.cloud.confluent.rights import Binding
from frazil.cloud.resource import Facts, GoesWithAnother, Known

_CLIENTS = ("confluent/account/app_producer", "confluent/account/app_consumer")
_CONNECTORS = "confluent/account/app_connector"
_MANAGER = "confluent/account/app_manager"
_OF_AN_ACL = (
    "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ExtraRights(InCluster):
    """All of them; they are taken away. What bears the deployment's mark is for others to remove.

    Args:
        accounts: The addresses of the accounts.
        bindings: The roles that they are to have.
        acls: The ACLs that they are to have.
        mark: Stands in the description of the deployment's keys.
    """

    accounts: tuple[str, ...]
    bindings: tuple[Binding, ...]
    acls: tuple[Acl, ...]
    mark: str

    def wanted(self, known: Known) -> Facts:
        """None."""
        return {"roles": {}, "acls": [], "keys": {}}

    def read(self, known: Known) -> Facts:
        """Each role by the id of its binding, each ACL as it is listed, each key by its id."""
        accounts = {known[address]["id"]: address for address in self.accounts}
        return {
            "roles": dict(self._roles(known, accounts)),
            "acls": list(self._extra_acls(known, accounts)),
            "keys": dict(self._keys(accounts)),
        }

    def create(self, known: Known) -> None:
        """Nothing is made."""

    def update(self, there: Facts, known: Known) -> None:
        """Takes them away."""
        for id_ in there["roles"]:
            self.confluent.cloud.delete(f"{Binding.path}/{id_}")
        for acl in there["acls"]:
            self.plane(known).delete(self.path(known, "acls"), acl)
        for id_ in there["keys"]:
            keys.revoke(self.confluent, id_)

    def delete(self, there: Facts, known: Known) -> None:
        """They go with the accounts."""
        raise GoesWithAnother

    def _roles(self, known: Known, accounts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        given = {(w["principal"], w["role"], w["pattern"]) for w in (b.wanted(known) for b in self.bindings)}
        organization = f"crn://confluent.cloud/organization={known['confluent/environment']['organization']}"
        for id_, address in accounts.items():
            asked = {"principal": f"User:{id_}", "crn_pattern": organization}
            for body in self.confluent.cloud.every(Binding.path, **asked):
                role, pattern = str(body["role_name"]), str(body["crn_pattern"])
                if (f"User:{id_}", role, pattern) not in given and not _may_be_former(address, role, pattern):
                    yield str(body["id"]), f"{_duty(address)}: {role} on {pattern.removeprefix(organization)}"

    def _extra_acls(self, known: Known, accounts: Mapping[str, str]) -> Iterator[Json]:
        plane, given = self.plane(known), [acl.wanted(known) for acl in self.acls]
        ours = set(marked_topics(plane, known["confluent/cluster"]["id"], known[_MANAGER]["id"]))
        for id_, address in accounts.items():
            asked = {"principal": f"User:{id_}"}
            for body in plane.ask("GET", self.path(known, "acls"), query=asked)["data"]:
                acl = {name: body[name] for name in _OF_AN_ACL}
                if acl not in given and not _may_be_former_acl(address, acl, ours):
                    yield acl

    def _keys(self, accounts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for id_, address in accounts.items():
            for body in keys.owned(self.confluent, id_):
                if not str(body["spec"].get("description", "")).startswith(f"{self.mark}:"):
                    yield str(body["id"]), f"{_duty(address)}, of {body['metadata'].get('created_at', 'old')}"


def _duty(address: str) -> str:
    return address.rpartition("/")[2]


def _may_be_former(address: str, role: str, pattern: str) -> bool:
    """What a deployment without Tableflow has left of one with it."""
    return address == _MANAGER and (
        (role == "ResourceOwner" and "/provider-integration=" in pattern)
        or (role == "DeveloperRead" and pattern.endswith("/subject=*"))
    )


def _may_be_former_acl(address: str, acl: Json, ours: set[str]) -> bool:
    """What is left of a topic that was taken out, of its mark, or of its connector."""
    if acl["resource_type"] != "TOPIC" or acl["pattern_type"] != "LITERAL" or acl["resource_name"] == "*":
        return False
    if address == _CONNECTORS:
        return bool(acl["operation"] == "WRITE")
    return address in (*_CLIENTS, _MANAGER) and acl["resource_name"] in ours
