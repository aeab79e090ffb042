"""A tour of what somebody changes by hand in a deployment, and what Frazil makes of each change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import requests
import yaml
from pyiceberg.catalog import load_catalog

from frazil.settings.profile import Settings
from frazil_cloud.deployment import OBJECTS, open_clouds, reconciler_of
from frazil_cloud.resource import Known
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.three_clouds import LAB, ThreeClouds, three_clouds, write_deployment
from kit.runs.shell import Output

Frazil = Callable[..., Output]

TOURED: dict[str, Any] = {
    **LAB,
    "confluent": {
        **LAB["confluent"],
        "topics": [{"name": "stock_trades", "config": {"retention.ms": "604800000"}}],
        "tableflow": ["stock_trades", "totals"],
    },
}
"""The lab, with something that can be changed of each kind."""
ROWS = pa.table({"symbol": ["ZTEST", "ZVV"], "price": [5, 7], "$$offset": [0, 1]})
_SEVERAL_LOOKS = 3


@dataclass
class Tour:
    """The deployment, and the clouds' own APIs for whoever changes it by hand."""

    clouds: ThreeClouds
    folder: Path
    document: dict[str, Any]
    is_clean: bool = True
    """Whether nothing differs; after a change that was not healed something does."""
    known: Known = field(default_factory=dict)

    @property
    def spec(self) -> DeploymentSpec:
        return DeploymentSpec.model_validate(self.document)

    @property
    def environment(self) -> dict[str, str]:
        """Of who administers it."""
        return {**self.clouds.administrator, "FRAZIL_DEPLOYMENTS": str(self.folder / "deployments")}

    def write(self, **parts: Any) -> None:
        """Writes something else into its file."""
        self.document = {**self.document, **parts}
        document = {"type": "assets.deployments.Deployment", "attributes": self.document}
        (self.folder / "deployments" / self.spec.name / "defs.yaml").write_text(yaml.safe_dump(document))

    def look(self) -> None:
        """Reads what Frazil knows of its objects while nothing differs: ids above all."""
        self.known = reconciler_of(self.spec, Settings.load(), patience=60, pause=0.5).facts()

    def resource(self, address: str) -> Any:
        """One of its objects, as Frazil makes it."""
        clouds = open_clouds(self.spec, Settings.load())
        resources = (each for objects in OBJECTS.values() for each in objects(self.spec, clouds))
        return next(each for each in resources if each.address == address)

    def id(self, address: str) -> str:
        """The id of an object in Confluent Cloud."""
        return str(self.known[f"confluent/{address}"]["id"])

    # Confluent Cloud: each plane with a key that is for it.

    def cloud(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """The management API."""
        return answered(self.clouds.confluent.ask(method, path, body, **query))

    def kafka(self, method: str, rest: str, body: Any = None, **query: str) -> Any:
        """The cluster's plane."""
        path = f"/kafka/v3/clusters/{self.id('cluster')}/{rest}"
        return answered(self.clouds.confluent.ask(method, path, body, *self.pair("app_manager"), **query))

    def connect(self, method: str, rest: str, body: Any = None) -> Any:
        """The connectors of the cluster."""
        known = self.known
        environment, cluster = (known[f"confluent/{it}"]["id"] for it in ("environment", "cluster"))
        return self.cloud(method, f"/connect/v1/environments/{environment}/clusters/{cluster}/{rest}", body)

    def flink(self, method: str, name: str, body: Any = None) -> Any:
        """A statement."""
        environment = self.known["confluent/environment"]
        place = f"organizations/{environment['organization']}/environments/{environment['id']}"
        path = f"/sql/v1/{place}/statements/{name}"
        return answered(self.clouds.confluent.ask(method, path, body, *self.pair("flink")))

    def tableflow(self, method: str, rest: str, spec: Any = None) -> Any:
        """Tableflow's plane; a body names the place, a query does otherwise."""
        known = self.known
        environment, cluster = (known[f"confluent/{it}"]["id"] for it in ("environment", "cluster"))
        place = {
            "environment": {"id": environment},
            "kafka_cluster": {"id": cluster, "environment": environment},
        }
        body = {"spec": {**place, **spec}} if spec else None
        query = {} if spec else {"environment": environment, "spec.kafka_cluster": cluster}
        pair = self.pair("tableflow")
        return answered(self.clouds.confluent.ask(method, f"/tableflow/v1/{rest}", body, *pair, **query))

    def pair(self, use: KeyUse) -> tuple[str, str]:
        """A key and its secret."""
        values = self.secret(self.spec.names.secret(use))
        if "sasl.username" in values:
            return values["sasl.username"], values["sasl.password"]
        return values["api.key"], values["api.key.secret"]

    # AWS and Snowflake.

    def aws(self, service: str) -> Any:
        """A client of whoever owns the account."""
        return self.clouds.aws.client(service)

    def secret(self, name: str) -> dict[str, str]:
        """What a secret says."""
        text = self.aws("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
        return dict(json.loads(text))

    def say(self, role: str, statement: str) -> Any:
        """A statement in Snowflake; names in braces are those of the deployment's objects."""
        name = self.spec.names.snowflake
        kinds = ("USER", "WAREHOUSE", "DATABASE", "VOLUME", "CATALOG_INTEGRATION", "SYSTEM_ADMIN_ROLE")
        names = {kind: name(kind) for kind in kinds}
        schema = f"{name('DATABASE')}.{name('SCHEMA')}"
        key = self.clouds.snowflake.key.public
        return self.clouds.snowflake.as_(
            names.get(role, role), statement.format(**names, SCHEMA=schema, key=key)
        )


@dataclass(frozen=True)
class Change:
    """One deed of somebody's.

    Args:
        what: In words.
        deed: Does it, through the clouds' own APIs.
        named: The objects that a plan then names, besides those that it says come after these.
        words: What stands in its lines besides.
        also: Objects that a plan may name, too, sooner or later.
        alone: Whether it hides what other changes would be named by.
        advice: Words of the command that can't heal it; empty: it heals.
        mended: Does what the words say.
        ends_looks: Whether even a look ends with these words.
    """

    what: str
    deed: Callable[[Tour], object]
    named: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    alone: bool = False
    advice: tuple[str, ...] = ()
    mended: Callable[[Tour, Frazil], object] = lambda *_: None
    ends_looks: bool = False

    def __str__(self) -> str:
        return self.what


def waves(changes: Iterable[Change]) -> list[list[Change]]:
    """Those that are healed, as many together as can be told apart: no two of a wave are of one object."""
    waves_made: list[list[Change]] = []
    for change in (each for each in changes if not each.advice):
        wave = next((each for each in waves_made if not change.alone and _fits(each, change)), None)
        waves_made.append([change]) if wave is None else wave.append(change)
    return waves_made


def _fits(wave: list[Change], change: Change) -> bool:
    taken = {address for each in wave for address in each.named}
    return not any(each.alone for each in wave) and not taken & {*change.named}


def explained(changes: Iterable[Change]) -> list[Change]:
    """Those that a command can't heal, and says how somebody can."""
    return [each for each in changes if each.advice]


def heal(tour: Tour, frazil: Frazil, wave: list[Change]) -> None:
    """Makes changes, and sees each named and healed; at last nothing differs."""
    begin(tour, wave)
    drifted = frazil("deploy", "drift", "--json", "--patience", "1")
    assert drifted.code == 3, drifted.err
    compare(drifted.document["steps"], wave)
    finish(tour, frazil)


def explain(tour: Tour, frazil: Frazil, change: Change) -> None:
    """Makes a change, and sees it named; a command ends with what to do, and after that nothing differs."""
    begin(tour, [change])
    drifted = frazil("deploy", "drift", "--json", "--patience", "1")
    if change.ends_looks:
        says(drifted, change)
    else:
        assert drifted.code == 3, drifted.err
        compare(drifted.document["steps"], [change])
    says(frazil("deploy", "create", "--yes", "--patience", "1"), change)
    change.mended(tour, frazil)
    finish(tour, frazil)


def begin(tour: Tour, wave: list[Change]) -> None:
    """Somebody does it all."""
    tour.look()
    tour.is_clean = False
    for change in wave:
        change.deed(tour)


def compare(steps: list[Any], wave: list[Change]) -> None:
    """Each change is named by its objects and words, and nothing is named besides."""
    named = {address for change in wave for address in change.named}
    changed = {step["address"] for step in steps} - _behind(steps, named)
    changed -= {address for change in wave for address in change.also} - named
    assert changed == named - _behind(steps, named), f"{changed} were named, not {named}"
    for change in wave:
        lines = [step for step in steps if step["address"] in change.named]
        lacking = [word for word in change.words if word not in json.dumps(lines)]
        assert lacking == [], f"{change}: {lacking} are not in {lines}"


def _behind(steps: list[Any], named: set[str]) -> set[str]:
    """What a plan says comes after what was named."""
    behind: set[str] = set()
    while (
        added := {
            step["address"]
            for step in steps
            if any(each in step["why"].strip("()").replace(",", "").split() for each in named | behind)
        }
        - behind
    ):
        behind |= added
    return behind  # fmt: skip


def finish(tour: Tour, frazil: Frazil) -> None:
    """All is healed: the next plan is empty."""
    created = frazil("deploy", "create", "--yes", "--patience", "1")
    assert created.code == 0, created.err
    left = differing(frazil)
    assert left == [], f"{left} still differ"
    tour.is_clean = True


def says(result: Output, change: Change) -> None:
    """A command that ends in words, with what to do next, and with no error of ours."""
    assert result.code not in (0, 3), result.out
    assert "Traceback" not in result.err
    assert "  Next: " in result.err, result.err
    lacking = [word for word in change.advice if word not in " ".join(result.err.split())]
    assert lacking == [], f"{lacking} are not in {result.err}"


def differing(frazil: Frazil) -> list[str]:
    """What a plan names; tables of Snowflake take a moment to be looked at again."""
    for _ in range(_SEVERAL_LOOKS):
        steps = frazil("deploy", "plan", "--json").document["steps"]
        if not steps:
            return []
        frazil("deploy", "create", "--yes", "--patience", "1")
    return [f"{step['address']}: {step['changes']}" for step in steps]


def answered(answer: requests.Response) -> Any:
    """What an API says to somebody who may do it."""
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


@contextmanager
def toured(folder: Path) -> Iterator[Tour]:
    """Three clouds, and where the file of the deployment is; nothing is made."""
    write_deployment(folder, TOURED)
    with three_clouds(folder) as clouds:
        yield Tour(clouds, folder, dict(TOURED))


def make_table(tour: Tour) -> None:
    """An Iceberg table of two rows in the bucket, shown by Glue, and by Snowflake from now on."""
    aws, spec = tour.clouds.aws, tour.spec
    keys = {"access-key-id": aws.key, "secret-access-key": aws.secret, "region": "us-east-1"}
    options = {f"{part}.{name}": value for part in ("s3", "glue") for name, value in keys.items()}
    places = {"s3.endpoint": aws.url, "glue.endpoint": aws.url}
    catalog = load_catalog("tests", type="glue", **options, **places)
    where = f"s3://{spec.aws.bucket}/{spec.aws.folder}/trades"
    catalog.create_table(f"{spec.names.glue_database}.trades", ROWS.schema, location=where).append(ROWS)
    tour.write(snowflake={"tables": ["trades"]})
