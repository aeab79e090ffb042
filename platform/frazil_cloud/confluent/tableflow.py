"""Confluent's way to AWS, and what goes there: the provider integration, Tableflow topics, Glue's catalog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import ConfigureError
from frazil_cloud.confluent.client import Confluent, awaited, settled_key, stored_pair
from frazil_cloud.confluent.kafka import MANAGERS_ROLE
from frazil_cloud.confluent.places import INTEGRATIONS, InEnvironment
from frazil_cloud.confluent.plane import Json, Plane
from frazil_cloud.confluent.resource import Renamable
from frazil_cloud.resource import WHY, Facts, Known, RefusedYet
from frazil_cloud.secrets import SecretStore
from frazil_cloud.spec.confluent import Tableflow

_ENVIRONMENT, _CLUSTER = "confluent/environment", "confluent/cluster"
_INTEGRATION = "confluent/provider_integration"
_KEY = "confluent/key/tableflow"
_RIGHTS = (
    "the roles CloudClusterAdmin on the cluster, ResourceOwner on the provider integration and "
    "DeveloperRead on the registry's subjects for the manager's account"
)


@dataclass(frozen=True, kw_only=True)
class ProviderIntegration(InEnvironment):
    """Names the customer's role before it exists: so the circle of Confluent and AWS opens.

    Args:
        role_arn: Tells the role's, predicted from its name; asks AWS for the account.
    """

    role_arn: Callable[[], str]
    path: ClassVar = INTEGRATIONS
    fixed: ClassVar = frozenset({"customer_role"})

    def wanted(self, known: Known) -> Facts:
        """Which role Confluent may take."""
        return {"customer_role": self.role_arn()}

    def facts(self, body: Json, known: Known) -> Facts:
        """With Confluent's own role and the external id, for the trust of the customer's."""
        config = body["config"]
        theirs = {"role_arn": config["iam_role_arn"], "external_id": config["external_id"]}
        return {"id": body["id"], "customer_role": config["customer_iam_role_arn"], **theirs}

    def body(self, known: Known) -> Json:
        """What it is made of."""
        return {
            "display_name": self.name, "provider": "AWS", "environment": {"id": known[_ENVIRONMENT]["id"]},
            "config": {"kind": "AwsIntegrationConfig", "customer_iam_role_arn": self.role_arn()},
        }  # fmt: skip

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it. What uses it may be seen for a while: then it is a 400, for the API has no 409 here."""
        path = f"{self.path}/{there['id']}"
        self.plane(known).delete(path, self.place(known), soon=lambda status, _: status == 400)


def _role_is_late(status: int, text: str) -> bool:
    return status == 400 and "assume" in text.lower()


@dataclass(frozen=True, kw_only=True)
class OfTableflow(InEnvironment):
    """What Tableflow runs: one that FAILED is resumed."""

    secrets: SecretStore = field(repr=False)
    rests: ClassVar[str]

    def plane(self, known: Known) -> Plane:
        """Tableflow's, with its own key; who holds that needs a role on the cluster."""
        known[MANAGERS_ROLE]
        pair = stored_pair(self.secrets, known, _KEY)
        return self.confluent.tableflow(pair, settled_key(known, _KEY))

    def place(self, known: Known) -> dict[str, str]:
        """Environment and cluster."""
        return {**super().place(known), "spec.kafka_cluster": known[_CLUSTER]["id"]}

    def wanted(self, known: Known) -> Facts:
        """That it runs."""
        return {"phase": self.rests}

    def facts(self, body: Json, known: Known) -> Facts:
        """Its phase, and what keeps it from running."""
        phase, error = awaited(body, "PENDING"), body["status"].get("error_message")
        why = "" if phase == self.rests else f"it was {phase}: {error or 'no reason was told'}"
        return {"id": body.get("id", self.name), "phase": phase, WHY: why}

    def create(self, known: Known) -> None:
        """Makes it. A topic that Tableflow does not see yet is a 404, a role that IAM shows late a 400."""
        body = {"spec": {**self.spec(known), **self._where(known)}}
        self.plane(known).post(self.path, body, _RIGHTS, soon=_role_is_late)

    def spec(self, known: Known) -> Json:
        """What it is made of, besides its place."""
        raise NotImplementedError

    def update(self, there: Facts, known: Known) -> None:
        """Resumes it."""
        self.change(there, known, suspended=False)

    def change(self, there: Facts, known: Known, **changes: Any) -> None:
        """Writes fields of its spec."""
        body = {"spec": {**self._where(known), **changes}}
        self.plane(known).ask("PATCH", f"{self.path}/{there['id']}", body)

    def verify(self, there: Facts, known: Known) -> None:
        """It still runs: so Confluent can take the customer's role, and that role may do what it must."""
        body = self.find(known)
        phase = awaited(body, "PENDING") if body else "not there"
        if phase != self.rests:
            error = (body or {}).get("status", {}).get("error_message", "")
            raise RefusedYet(f"{self.name} is {phase}: {error}")

    def _where(self, known: Known) -> Json:
        environment = known[_ENVIRONMENT]["id"]
        cluster = {"id": known[_CLUSTER]["id"], "environment": environment}
        return {"environment": {"id": environment}, "kafka_cluster": cluster}


@dataclass(frozen=True, kw_only=True)
class TableflowTopic(OfTableflow):
    """A topic that Confluent writes as an Iceberg table into the deployment's bucket.

    Args:
        settings: How it is written.
        keys: All keys in the bucket.
    """

    bucket: str
    settings: Tableflow
    keys: Callable[[], Iterator[str]] = field(repr=False)
    path: ClassVar = "/tableflow/v1/tableflow-topics"
    fixed: ClassVar = frozenset({"bucket"})
    rests: ClassVar = "RUNNING"

    def wanted(self, known: Known) -> Facts:
        """That it runs, and where the table goes."""
        own = {"bucket": self.bucket, "formats": sorted(self.settings.formats), "config": self._config}
        return {**super().wanted(known), **own}

    @property
    def _config(self) -> Json:
        """What the user said of it, as the API has it; what was not said is Confluent's."""
        mode = self.settings.on_bad_record.upper()
        handling = {"mode": mode, **({"target": self.settings.log_topic} if self.settings.log_topic else {})}
        kept = self.settings.retention
        lives = {"retention_ms": str(int(kept.total_seconds() * 1000))} if kept else {}
        return {"error_handling": handling, **lives}

    def facts(self, body: Json, known: Known) -> Facts:
        """With the path of the table."""
        spec = body["spec"]
        storage, config = spec["storage"], spec.get("config", {})
        present = {name: _wanted_part(config.get(name), self._config[name]) for name in self._config}
        return {
            **super().facts(body, known), "config": present, "formats": sorted(spec.get("table_formats", [])),
            "bucket": storage.get("bucket_name"), "table_path": storage.get("table_path", ""),
            "failing": sync_problems(body),
        }  # fmt: skip

    def create(self, known: Known) -> None:
        """Makes it. The first one of a bucket finds nothing there, or what Tableflow wrote for this cluster.

        "You should start with an empty storage location when you first enable Tableflow. Existing objects in
        the location may cause Tableflow to fail to start or may be lost entirely during initialization"
        (https://docs.confluent.io/cloud/current/topics/tableflow/how-to-guides/configure-storage.html).
        """
        if not any(self._beside(known)) and (other := next(self._others(known), "")):
            raise ConfigureError(
                f"The bucket {self.bucket} holds what Tableflow did not write for this cluster.",
                where=f"{self.name}: s3://{self.bucket}/{other}",
                meaning="It was not turned on: objects in the bucket might be lost.",
                todo="Tables that Frazil landed may be among them. Let a deployment of its own have "
                "Tableflow, with a bucket of its own; or empty this one, if nobody needs what it holds.",
            )
        super().create(known)

    def _others(self, known: Known) -> Iterator[str]:
        """The keys that are in no `table_path` of this cluster: those have three ids in a row."""
        environment = known[_ENVIRONMENT]
        own = f"/{environment['organization']}/{environment['id']}/{known[_CLUSTER]['id']}/"
        return (key for key in self.keys() if own not in key.replace("//", "/"))

    def _beside(self, known: Known) -> Iterator[Json]:
        for body in self.plane(known).every(self.path, **self.place(known)):
            if body["spec"]["storage"].get("bucket_name") == self.bucket:
                yield body

    def update(self, there: Facts, known: Known) -> None:
        """Changes its settings; resumes one that FAILED."""
        if (there["config"], there["formats"]) != (self._config, sorted(self.settings.formats)):
            self.change(there, known, config=self._config, table_formats=list(self.settings.formats))
        if there["phase"] != self.rests:
            super().update(there, known)

    def verify(self, there: Facts, known: Known) -> None:
        """It runs, and nothing keeps the catalogs or a format behind: health is not the phase alone."""
        super().verify(there, known)
        if problems := sync_problems(self.find(known) or {}):
            raise RefusedYet(f"{self.name}: {problems}")

    def spec(self, known: Known) -> Json:
        """A table of Iceberg in the bucket, through the integration."""
        integration = known[_INTEGRATION]["id"]
        storage = {"kind": "ByobAws", "bucket_name": self.bucket, "provider_integration_id": integration}
        formats = list(self.settings.formats)
        details = {"storage": storage, "table_formats": formats, "config": self._config}
        return {"display_name": self.name, **details}


def _wanted_part(there: Any, wanted: Any) -> Any:
    """A setting as it is; of what is there, the fields that are wanted."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        return {name: there.get(name) for name in wanted}
    return there


def status_text(topic: str, confluent: Confluent, secrets: SecretStore, known: Known) -> str:
    """What Tableflow says of a topic whose table is waited for."""
    plane = confluent.tableflow(stored_pair(secrets, known, _KEY), settled_key(known, _KEY))
    where = {"environment": known[_ENVIRONMENT]["id"], "spec.kafka_cluster": known[_CLUSTER]["id"]}
    there = plane.every(TableflowTopic.path, **where)
    body: Json = next((each for each in there if each["spec"]["display_name"] == topic), {})
    phase = body.get("status", {}).get("phase", "that the topic is not on")
    return f"Tableflow makes it of the topic's first records, and says {sync_problems(body) or phase}"


def sync_problems(body: Json) -> str:
    """What a topic of Tableflow says of catalogs and formats that lag behind; empty where all are in step."""
    status = body.get("status", {})
    catalogs = [
        f"catalog {each.get('catalog_type', '')}: {problem}"
        for each in status.get("catalog_sync_statuses", [])
        if each.get("sync_status") not in ("SYNCED", "PENDING")
        and (problem := each.get("error_message") or each.get("sync_status"))
    ]
    formats = [
        f"{each.get('format')}: {each.get('error_message')}"
        for each in status.get("failing_table_formats", [])
    ]
    return "; ".join((*catalogs, *formats))


@dataclass(frozen=True, kw_only=True)
class GlueSync(Renamable, OfTableflow):
    """Glue's catalog, kept in step with the tables: its database is named as the cluster's id."""

    path: ClassVar = "/tableflow/v1/catalog-integrations"
    rests: ClassVar = "CONNECTED"

    def wanted(self, known: Known) -> Facts:
        """Its name, and that it is connected, to the database where everybody looks for the tables."""
        return {"name": self.name, **super().wanted(known), "database": known[_CLUSTER]["id"]}

    def marked(self, there: Collection[Json], known: Known) -> Collection[str]:
        """Those that go through the deployment's integration."""
        own = known[_INTEGRATION]["id"]
        return {each["id"] for each in there if each["spec"]["config"].get("provider_integration_id") == own}

    def facts(self, body: Json, known: Known) -> Facts:
        """With its name, and the database: named as the cluster's id, unless somebody said another."""
        spec = body["spec"]
        database = spec["config"].get("custom_database") or known[_CLUSTER]["id"]
        return {**super().facts(body, known), "name": spec["display_name"], "database": database}

    def update(self, there: Facts, known: Known) -> None:
        """Goes back to its name and the database; resumes one that FAILED."""
        if there["name"] != self.name:
            self.change(there, known, display_name=self.name)
        if (database := known[_CLUSTER]["id"]) != there["database"]:
            self.change(there, known, config={"kind": "AwsGlue", "custom_database": database})
        if there["phase"] != self.rests:
            super().update(there, known)

    def spec(self, known: Known) -> Json:
        """Glue, through the integration."""
        config = {"kind": "AwsGlue", "provider_integration_id": known[_INTEGRATION]["id"]}
        return {"display_name": self.name, "config": config}
