"""What a deployment had in Confluent Cloud, and has no more: found in its own places, or by its mark."""

from __future__ import annotations

from dataclasses import replace

from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.accounts.keys import created, pair_or_none, statements_path
from frazil_cloud.confluent.accounts.rights import Account
from frazil_cloud.confluent.client import settled_key
from frazil_cloud.confluent.kafka import MANAGERS_ROLE, Acl, Topic, marked_topics
from frazil_cloud.confluent.objects import objects
from frazil_cloud.confluent.refusals import Settled
from frazil_cloud.confluent.tableflow import TableflowTopic
from frazil_cloud.resource import Known, Resource
from frazil_cloud.spec.confluent import CloudTopic, ConfluentPart, Connector, KeyUse, Statement
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.names import Duty

_CLIENTS: tuple[Duty, ...] = ("app_producer", "app_consumer")
_ROLES: dict[KeyUse, str] = {
    "app_manager": MANAGERS_ROLE,
    "tableflow": MANAGERS_ROLE,
    "flink": "confluent/binding/flink-FlinkDeveloper",
}
"""What the account of a key needs, so that it is not refused."""
_NONE = "none"  # stands for an object that is asked for in vain, so that what it would need is asked for


def former(spec: DeploymentSpec, clouds: Clouds, known: Known) -> list[Resource]:
    """Objects that the deployment would have if there were more in it."""
    if spec.confluent is None or "confluent/cluster" not in known:
        return []
    ours = {
        body["display_name"]: body["id"]
        for body in clouds.confluent.cloud.every(Account.path)
        if body.get("description") == spec.mark
    }
    own = {each.address for each in objects(spec, clouds)}
    had = _Former(spec, clouds, known, ours, own - known.keys()).widened(spec.confluent)
    wider = spec.model_copy(update={"confluent": had})
    resources = [each for each in objects(wider, clouds) if each.address not in own]
    return [
        _behind_its_acls(each, resources)
        for each in resources
        if not isinstance(each, Account) or each.name in ours
    ]


def _behind_its_acls(one: Resource, resources: list[Resource]) -> Resource:
    """A topic goes before its clients' ACLs, for by these it is found."""
    if not isinstance(one, Topic):
        return one
    acls = [each for each in resources if isinstance(each, Acl) and each.name == one.name]
    clients = [f"confluent/account/{duty}" for duty in _CLIENTS]
    return replace(one, needs=(*one.needs, *(each.address for each in acls if each.account in clients)))


class _Former:
    def __init__(
        self, spec: DeploymentSpec, clouds: Clouds, known: Known, ours: dict[str, str], missing: set[str]
    ) -> None:
        self._spec, self._clouds, self._known, self._ours = spec, clouds, known, ours
        self._missing = missing
        self._environment, self._cluster = (
            known[f"confluent/{it}"]["id"] for it in ("environment", "cluster")
        )

    def widened(self, part: ConfluentPart) -> ConfluentPart:
        """The part as it may have been."""
        connectors, statements = self._connectors(part), self._statements(part)
        return part.model_copy(
            update={
                "topics": (*part.topics, *(CloudTopic(name=name) for name in self._topics(part))),
                "max_cfu": part.max_cfu or 5,
                "connectors": (*part.connectors, *connectors) or (Connector(name=_NONE, topic=_NONE),),
                "statements": (*part.statements, *statements),
                "tableflow": (*part.tableflow, *self._tableflow(part)) or (_NONE,),
            }
        )

    def _topics(self, part: ConfluentPart) -> list[str]:
        """Topics that bear the deployment's mark; one that its clients merely may read is somebody's."""
        named = {topic.name for topic in part.topics} | {each.makes for each in part.statements}
        who = self._ours.get(self._spec.names.account("app_manager"))
        if (login := self._login("app_manager")) is None or who is None:
            return []
        cluster = self._known["confluent/cluster"]
        kafka = self._clouds.confluent.plane(self._cluster, cluster["http_endpoint"], *login)
        return sorted(set(marked_topics(kafka, self._cluster, who)) - named)

    def _connectors(self, part: ConfluentPart) -> list[Connector]:
        """Connectors that run as the deployment's account, in its cluster; a sink has no topic of its own."""
        path = f"/connect/v1/environments/{self._environment}/clusters/{self._cluster}/connectors"
        account = self._ours.get(self._spec.names.account("app_connector"))
        names = set(self._clouds.confluent.cloud.ask("GET", path)["data"]) if account else set()
        connectors = []
        for name in sorted(names - {each.name for each in part.connectors}):
            config = (self._clouds.confluent.cloud.get(f"{path}/{name}") or {}).get("config", {})
            if config.get("kafka.service.account.id") == account:
                connectors.append(Connector(name=name, topic=config.get("kafka.topic", _NONE)))
        return connectors

    def _statements(self, part: ConfluentPart) -> list[Statement]:
        """Statements that run as the deployment's account."""
        account = self._ours.get(self._spec.names.account("flink"))
        login = self._login("flink")
        if account is None or login is None:
            return []
        flink = self._clouds.confluent.flink(self._spec.region, *login)
        names = {
            body["name"]
            for body in flink.every(statements_path(self._known))
            if body["spec"].get("principal") == account
        }
        return [Statement(name=name, sql=_NONE) for name in sorted(names - {s.name for s in part.statements})]

    def _tableflow(self, part: ConfluentPart) -> list[str]:
        """Tableflow topics that are written into the deployment's bucket."""
        if (login := self._login("tableflow")) is None:
            return []
        place = {"environment": self._environment, "spec.kafka_cluster": self._cluster}
        specs = [
            body["spec"]
            for body in self._clouds.confluent.tableflow(*login).every(TableflowTopic.path, **place)
        ]
        bucket = self._spec.aws.bucket
        names = {each["display_name"] for each in specs if each["storage"].get("bucket_name") == bucket}
        return sorted(names - set(part.tableflow))

    def _login(self, use: KeyUse) -> tuple[tuple[str, str], Settled | None] | None:
        """A key with its secret, and whether it is old; None where it or a role of its account lacks."""
        if _ROLES[use] in self._missing:
            return None
        address, secret = f"confluent/key/{use}", self._spec.names.secret(use)
        facts = self._known.get(address)
        if facts is not None and not facts["stored"]:
            return None
        if (pair := pair_or_none(self._clouds.secrets.get(secret))) is None:
            return None
        if facts is None:  # the use of the key was taken out
            facts = {"secret": secret, "created": created(self._clouds.confluent, pair[0])}
        return pair, settled_key({address: facts}, address)
