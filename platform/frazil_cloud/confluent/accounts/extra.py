"""What the deployment's accounts may do besides: roles, ACLs and keys that others gave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.rights import Binding
from frazil_cloud.confluent.kafka import Acl, InCluster, marks
from frazil_cloud.confluent.plane import Json
from frazil_cloud.resource import Facts, GoesWithAnother, Known

_CONNECTORS = "confluent/account/app_connector"
_MANAGER = "confluent/account/app_manager"
_ON_TOPICS = {
    "confluent/account/app_producer": "WRITE",
    "confluent/account/app_consumer": "READ",
    _CONNECTORS: "WRITE",
    _MANAGER: "DESCRIBE",
}
"""What each account may do with a topic of the deployment."""
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
        principals = {f"User:{id_}": address for id_, address in accounts.items()}
        asked = {"crn_pattern": organization}
        for body in self.confluent.cloud.by_few(Binding.path, "principal", principals, **asked):
            who, role, pattern = (str(body[name]) for name in ("principal", "role_name", "crn_pattern"))
            if who not in principals or (who, role, pattern) in given:
                continue
            if not _may_be_former(principals[who], role, pattern):
                where = pattern.removeprefix(organization)
                yield str(body["id"]), f"{_duty(principals[who])}: {role} on {where}"

    def _extra_acls(self, known: Known, accounts: Mapping[str, str]) -> Iterator[Json]:
        given = [acl.wanted(known) for acl in self.acls]
        listed = {address: self._acls_of(known, id_) for id_, address in accounts.items()}
        marked = set(marks(listed[_MANAGER]))
        present = {acl.name for acl in self.acls if acl.kind == "TOPIC"}
        for address, acls in listed.items():
            for acl in acls:
                if acl not in given and not _may_be_former_acl(address, acl, marked, present):
                    yield acl

    def _acls_of(self, known: Known, account: str) -> list[Json]:
        """By account: a list of all may name it otherwise than `sa-...` (kafkarest/v3, api/openapi.yaml)."""
        asked = {"principal": f"User:{account}"}
        entries = self.plane(known).ask("GET", self.path(known, "acls"), query=asked)["data"]
        return [{name: body[name] for name in _OF_AN_ACL} for body in entries]

    def _keys(self, accounts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for body in keys.owned(self.confluent, *accounts):
            if not str(body["spec"].get("description", "")).startswith(f"{self.mark}:"):
                owner = _duty(accounts[body["spec"]["owner"]["id"]])
                yield str(body["id"]), f"{owner}, of {body['metadata'].get('created_at', 'old')}"


def _duty(address: str) -> str:
    return address.rpartition("/")[2]


def _may_be_former(address: str, role: str, pattern: str) -> bool:
    """What a deployment without Tableflow has left of one with it."""
    return address == _MANAGER and (
        (role == "ResourceOwner" and "/provider-integration=" in pattern)
        or (role == "DeveloperRead" and pattern.endswith("/subject=*"))
    )


def _may_be_former_acl(address: str, acl: Json, marked: set[str], present: set[str]) -> bool:
    """What is left of a topic that was taken out, of its mark, or of its connector: what these were given."""
    named = str(acl["resource_name"])
    given = (acl["resource_type"], acl["pattern_type"], acl["host"], acl["permission"], acl["operation"])
    if given != ("TOPIC", "LITERAL", "*", "ALLOW", _ON_TOPICS.get(address)):
        return False
    return named in (marked if address == _CONNECTORS else marked - present)
