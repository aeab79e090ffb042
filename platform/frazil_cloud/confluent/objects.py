"""All objects of a deployment in Confluent Cloud: those of the source systems, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from frazil_cloud.aws.bucket import object_keys
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.accounts.extra import ExtraRights
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.confluent.accounts.rights import Account, Binding, Key
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.confluent.datagen import Datagen
from frazil_cloud.confluent.kafka import MANAGED, Acl, AclKind, Topic, mark_of
from frazil_cloud.confluent.places import (
    CLUSTER_ROLE,
    ENVIRONMENT_ROLE,
    Cluster,
    Environment,
    Pool,
    Registry,
)
from frazil_cloud.confluent.statement import FlinkStatement
from frazil_cloud.confluent.tableflow import GlueSync, ProviderIntegration, TableflowTopic
from frazil_cloud.resource import Known, Resource
from frazil_cloud.spec.confluent import ConfluentPart, KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.names import Duty

_ENVIRONMENT, _CLUSTER, _REGISTRY = "confluent/environment", "confluent/cluster", "confluent/registry"
_Pattern = Callable[[Known], str]
"""The name of what a role is given on, below the organization's."""

_POOL, _INTEGRATION = "confluent/pool", "confluent/provider_integration"
_MANAGER, _MARK = "confluent/account/app_manager", f"confluent/binding/app_manager-{ENVIRONMENT_ROLE}"
"""A role that changes nothing, of an account that bears the mark: by it the environment is known as ours."""


def objects(spec: DeploymentSpec, clouds: Clouds) -> list[Resource]:
    """Everything that the deployment has in Confluent Cloud; asks nobody anything."""
    if spec.confluent is None:
        return []
    return list(_Objects(spec, spec.confluent, clouds).all())


@dataclass(frozen=True)
class _Objects:
    spec: DeploymentSpec
    part: ConfluentPart
    clouds: Clouds

    @property
    def confluent(self) -> Confluent:
        confluent: Confluent = self.clouds.confluent
        return confluent

    def all(self) -> Iterator[Resource]:
        yield from self._places()
        for duty in self._duties():
            address = f"confluent/account/{duty}"
            name = self.spec.names.account(duty)
            yield Account(address=address, name=name, mark=self.spec.mark, confluent=self.confluent)
        yield from self._bindings()
        for use in self.part.key_uses:
            yield self._key(use)
        yield from self._acls()
        yield from self._topics()
        yield self._extra()
        yield from self._connectors()
        yield from self._statements()
        yield from self._tableflow()

    def _duties(self) -> tuple[Duty, ...]:
        """Whom it has accounts for: none for what it does not run."""
        always: tuple[Duty, ...] = ("app_manager", "app_producer", "app_consumer", "schema_registry")
        connector: tuple[Duty, ...] = ("app_connector",) if self.part.connectors else ()
        flink: tuple[Duty, ...] = ("flink",) if self.part.max_cfu else ()
        return (*always, *connector, *flink)

    def _places(self) -> Iterator[Resource]:
        name, region, confluent = self.spec.name, self.spec.region, self.confluent
        yield Environment(
            address=_ENVIRONMENT, needs=(_MANAGER,), name=name, governance=self.part.governance,
            account=_MANAGER, adopts=self.clouds.adopts, confluent=confluent,
        )  # fmt: skip
        inside = (_ENVIRONMENT, _MARK)
        yield Cluster(
            address=_CLUSTER, needs=inside, name=name, kind=self.part.kind, region=region, account=_MANAGER,
            confluent=confluent,
        )  # fmt: skip
        yield Registry(address=_REGISTRY, needs=(_ENVIRONMENT, _CLUSTER), name="", confluent=confluent)
        if self.part.max_cfu:
            yield Pool(
                address=_POOL, needs=inside, name=self.spec.names.pool, region=region,
                max_cfu=self.part.max_cfu, secret=self.spec.names.secret("flink"),
                secrets=self.clouds.secrets, confluent=confluent,
            )  # fmt: skip
        if self.part.tableflow:
            yield ProviderIntegration(
                address=_INTEGRATION, needs=inside, name=self.spec.names.provider_integration,
                role_arn=self._writer, confluent=confluent,
            )  # fmt: skip

    def _writer(self) -> str:
        return f"arn:aws:iam::{self.clouds.aws.account}:role/{self.spec.names.writer_role}"

    def _bindings(self) -> Iterator[Resource]:
        yield self._binding("app_manager", ENVIRONMENT_ROLE, _environment, marks=True)
        yield self._binding("app_manager", CLUSTER_ROLE, _cluster, _CLUSTER, marks=True)
        for role in ("DeveloperRead", "DeveloperWrite"):
            yield self._binding("schema_registry", role, _subjects, _REGISTRY)
        if self.part.tableflow:
            yield self._binding("app_manager", "ResourceOwner", _integration, _INTEGRATION)
            yield self._binding("app_manager", "DeveloperRead", _subjects, _REGISTRY)
        if self.part.max_cfu:
            yield from self._bindings_of_flink()

    def _bindings_of_flink(self) -> Iterator[Resource]:
        """As a developer of this environment alone; a Basic cluster takes no roles on topics."""
        account = "confluent/account/flink"
        yield self._binding("flink", "FlinkDeveloper", _environment)
        yield self._binding("flink", "Assigner", lambda known: f"/service-account={known[account]['id']}")
        yield self._binding("flink", "ResourceOwner", _subjects, _REGISTRY, number="-1")
        if self.part.kind == "Basic":
            yield self._binding("flink", "EnvironmentAdmin", _environment)
        else:
            for number, what in (("-2", "topic=*"), ("-3", "transactional-id=*")):
                yield self._binding("flink", "ResourceOwner", _in_kafka(what), _CLUSTER, number=number)

    def _binding(
        self, duty: Duty, role: str, pattern: _Pattern, *needs: str, number: str = "", marks: bool = False
    ) -> Binding:
        account = f"confluent/account/{duty}"
        return Binding(
            address=f"confluent/binding/{duty}-{role}{number}", needs=(_ENVIRONMENT, account, *needs),
            account=account, role=role, pattern=pattern, marks=marks, confluent=self.confluent,
        )  # fmt: skip

    def _key(self, use: KeyUse) -> Key:
        duty = KeyDuty(self.spec, use)
        needs = duty.needs
        if use == "flink":  # who has no role is refused on Flink's plane, whatever the key
            needs = (*needs, "confluent/binding/flink-FlinkDeveloper")
        return Key(
            address=duty.address, needs=needs, duty=duty,
            confluent=self.confluent, secrets=self.clouds.secrets,
        )  # fmt: skip

    def _acls(self) -> Iterator[Acl]:
        topics = [topic.name for topic in self.part.topics]
        made = [statement.makes for statement in self.part.statements if statement.makes]
        for topic in (*topics, *made):
            yield self._acl("app_manager", "DESCRIBE", "TOPIC", topic)
        for topic in topics:
            yield self._acl("app_producer", "WRITE", "TOPIC", topic)
        for topic in (*topics, *made):
            yield self._acl("app_consumer", "READ", "TOPIC", topic)
        yield self._acl("app_consumer", "READ", "GROUP", self.spec.name)
        if not self.part.connectors:
            return
        yield self._acl("app_connector", "DESCRIBE", "CLUSTER", "kafka-cluster")
        for topic in sorted({connector.topic for connector in self.part.connectors}):
            yield self._acl("app_connector", "WRITE", "TOPIC", topic)
        for operation in ("CREATE", "WRITE"):  # previews of the connector's data go into a topic of this name
            yield self._acl("app_connector", operation, "TOPIC", self.spec.name)

    def _acl(self, duty: Duty, operation: str, kind: AclKind, name: str) -> Acl:
        account = f"confluent/account/{duty}"
        return Acl(
            address=f"confluent/acl/{duty}-{operation}-{kind.lower()}-{name}", needs=(*MANAGED, account),
            account=account, kind=kind, name=name, operation=operation,
            confluent=self.confluent, secrets=self.clouds.secrets,
        )  # fmt: skip

    def _extra(self) -> Resource:
        bindings = [each for each in self._bindings() if isinstance(each, Binding)]
        acls = list(self._acls())
        accounts = tuple(f"confluent/account/{duty}" for duty in self._duties())
        needs = (*MANAGED, *accounts, *(each.address for each in (*bindings, *acls)))
        return ExtraRights(
            address="confluent/extra_rights", needs=tuple(dict.fromkeys(needs)), accounts=accounts,
            bindings=tuple(bindings), acls=tuple(acls), mark=self.spec.mark,
            confluent=self.confluent, secrets=self.clouds.secrets,
        )  # fmt: skip

    def _topics(self) -> Iterator[Resource]:
        for topic in self.part.topics:
            yield Topic(
                address=f"confluent/topic/{topic.name}", needs=(*MANAGED, mark_of(topic.name)),
                name=topic.name, partitions=topic.partitions, config=dict(topic.config),
                confluent=self.confluent, secrets=self.clouds.secrets,
            )  # fmt: skip

    def _connectors(self) -> Iterator[Resource]:
        account = "confluent/account/app_connector"
        acls = tuple(acl.address for acl in self._acls() if acl.account == account)
        for connector in self.part.connectors:
            topic = f"confluent/topic/{connector.topic}"
            yield Datagen(
                address=f"confluent/connector/{connector.name}", spec=connector, confluent=self.confluent,
                needs=(_ENVIRONMENT, _CLUSTER, account, topic, *acls),
            )  # fmt: skip

    def _statements(self) -> Iterator[Resource]:
        """Each after those that the user says, and after the topics and their records."""
        sources = [f"confluent/topic/{topic.name}" for topic in self.part.topics]
        sources += [f"confluent/connector/{connector.name}" for connector in self.part.connectors]
        bindings = [binding.address for binding in self._bindings_of_flink()] if self.part.max_cfu else []
        common = (*MANAGED, _POOL, "confluent/account/flink", "confluent/key/flink")
        for statement in self.part.statements:
            before = [f"confluent/statement/{name}" for name in statement.after]
            followers = tuple(each.name for each in self.part.statements if statement.name in each.after)
            yield FlinkStatement(
                address=f"confluent/statement/{statement.name}",
                needs=(*common, *bindings, *sources, *before, *map(mark_of, filter(None, [statement.makes]))),
                spec=statement, region=self.spec.region, catalog=self.spec.name, database=self.spec.name,
                followers=followers, confluent=self.confluent, secrets=self.clouds.secrets,
            )  # fmt: skip

    def _tableflow(self) -> Iterator[Resource]:
        if not self.part.tableflow:
            return
        needs = (
            _ENVIRONMENT, _CLUSTER, _INTEGRATION, "confluent/key/tableflow", "aws/writer_role", "aws/bucket",
            "aws/glue",  # goes after them: else Tableflow would make its database anew
            "confluent/binding/app_manager-CloudClusterAdmin", "confluent/binding/app_manager-ResourceOwner",
            "confluent/binding/app_manager-DeveloperRead",
        )  # fmt: skip
        confluent, secrets = self.confluent, self.clouds.secrets
        yield GlueSync(
            address="confluent/glue_sync",
            needs=needs,
            name=self.spec.names.glue_sync,
            confluent=confluent,
            secrets=secrets,
        )
        for topic in self.part.tableflow:
            yield TableflowTopic(
                address=f"confluent/tableflow/{topic}", needs=(*needs, *self._makers(topic)), name=topic,
                bucket=self.spec.aws.bucket, settings=self.part.tableflow_settings,
                keys=lambda: object_keys(self.clouds.aws, self.spec.aws.bucket),
                confluent=confluent, secrets=secrets,
            )  # fmt: skip

    def _makers(self, topic: str) -> Iterator[str]:
        """What makes a topic, and fills it: Tableflow needs the schema that comes with the first record."""
        yield from (f"confluent/topic/{each.name}" for each in self.part.topics if each.name == topic)
        yield from (
            f"confluent/connector/{each.name}" for each in self.part.connectors if each.topic == topic
        )
        yield from (
            f"confluent/statement/{each.name}" for each in self.part.statements if each.makes == topic
        )


def _in_kafka(what: str) -> _Pattern:
    return lambda known: f"{_cluster(known)}/kafka={known[_CLUSTER]['id']}/{what}"


def _environment(known: Known) -> str:
    return f"/environment={known[_ENVIRONMENT]['id']}"


def _cluster(known: Known) -> str:
    return f"{_environment(known)}/cloud-cluster={known[_CLUSTER]['id']}"


def _subjects(known: Known) -> str:
    return f"{_environment(known)}/schema-registry={known[_REGISTRY]['id']}/subject=*"


def _integration(known: Known) -> str:
    return f"{_environment(known)}/provider-integration={known[_INTEGRATION]['id']}"
