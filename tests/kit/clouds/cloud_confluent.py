"""The Confluent stand-in as tests have it: in this process, on a free port, with its knobs at hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from threading import Thread
from typing import Any, get_args
from uuid import uuid4

import requests
from pydantic import SecretStr

from frazil.settings.systems.confluent import ConfluentSettings
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.confluent.objects import objects
from frazil_cloud.confluent.removal import former
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Facts, GoesWithAnother, Known, Resource
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_local.cloud.confluent.knobs import Knobs
from frazil_local.cloud.confluent.organization import Organization, Places, StoredObject
from frazil_local.cloud.confluent.server import server
from kit.clouds.confluent_openapi import judged
from kit.runs.waiting import wait_for
from kit.stack.standin import free_port

KEY, SECRET = "admin", "admin-secret"
QUICK = {"provision": 0.02, "key_sync": 0.0, "rbac_sync": 0.0, "topic_sync": 0.0}


@dataclass(frozen=True)
class Made:
    """What the first creation of a deployment left."""

    objects: dict[str, dict[str, StoredObject]]
    secrets: dict[str, dict[str, str]]
    known: Known


@dataclass
class CloudConfluent:
    """The stand-in, and who asks: its administrator.

    Args:
        made_before: What first creations left, by document, for the tests that begin with what is there.
    """

    organization: Organization
    made_before: dict[str, Made] = field(default_factory=dict)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was made, and all is quick, since `reset`."""
        return not self.inventory() and self.organization.knobs == Knobs(more=dict(QUICK))

    @property
    def url(self) -> str:
        return self.organization.places.here

    @property
    def settings(self) -> ConfluentSettings:
        """As Frazil is told of it."""
        return ConfluentSettings(endpoint=self.url, api_key=SecretStr(KEY), api_secret=SecretStr(SECRET))

    @property
    def client(self) -> Confluent:
        return Confluent(self.settings)

    def client_of(self, who: dict[str, str]) -> Confluent:
        """The client of another Cloud API key."""
        credentials = {"api_key": SecretStr(who["key"]), "api_secret": SecretStr(who["secret"])}
        return Confluent(self.settings.model_copy(update=credentials))

    def turn(self, **faults: Any) -> None:
        """Turns faults on; those that are not named are off."""
        self.organization.knobs.set({"more": self.organization.knobs.more, **faults})

    def delay(self, **delays: Any) -> None:
        """Sets some of the delays."""
        self.organization.knobs.turn(**delays)

    def calls(self) -> int:
        """How many requests it has had."""
        return int(self.ask("GET", "/_knobs").json()["calls"])

    def reset(self) -> None:
        """Forgets everything; all is quick."""
        self.organization.knobs.set({"more": dict(QUICK)})
        with self.organization.lock:
            self.organization.objects.clear()
            self.organization.admit(KEY, SECRET)

    def ask(
        self, method: str, path: str, body: Any = None, key: str = KEY, secret: str = SECRET, **query: str
    ) -> Any:
        """A request without Frazil's client."""
        return requests.request(
            method, self.url + path, json=body, params=query, auth=(key, secret), timeout=60
        )  # fmt: skip

    def made(self, path: str, body: Any, **who: str) -> Any:
        """What a POST made."""
        answer = self.ask("POST", path, body, **who)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else {}

    def environment(self) -> str:
        return str(self.made("/org/v2/environments", {"display_name": uuid4().hex})["id"])

    def cluster(self, environment: str, kind: str = "Standard", name: str = "lab") -> str:
        spec = {"display_name": name, "availability": "SINGLE_ZONE", "cloud": "AWS", "region": "us-east-1"}
        place = {"config": {"kind": kind}, "environment": {"id": environment}}
        return str(self.made("/cmk/v2/clusters", {"spec": {**spec, **place}})["id"])

    def registry(self, environment: str) -> str:
        path = "/srcm/v3/clusters"
        return str(awaited(lambda: self.ask("GET", path, environment=environment).json()["data"])[0]["id"])

    def account(self, *bindings: tuple[str, str]) -> str:
        """A service account with roles: each of them and what it is on, below the organization."""
        made = self.made("/iam/v2/service-accounts", {"display_name": uuid4().hex})["id"]
        for role, place in bindings:
            self.bind(made, role, place)
        return str(made)

    def bind(self, account: str, role: str, place: str) -> Any:
        body = {
            "principal": f"User:{account}",
            "role_name": role,
            "crn_pattern": self.organization.crn + place,
        }
        return self.made("/iam/v2/role-bindings", body)

    def key(self, owner: str, resource: dict[str, str] | None = None) -> dict[str, str]:
        """A key of an account for a plane, as `ask` takes it."""
        spec = {"owner": {"id": owner}, **({"resource": resource} if resource else {})}
        made = self.made("/iam/v2/api-keys", {"spec": spec})
        return {"key": made["id"], "secret": made["spec"]["secret"]}

    def inventory(self) -> dict[str, list[str]]:
        """All that is there, by the end of its address, without the administrator's key and role."""
        own = (KEY, "rb-admin")
        with self.organization.lock:
            names = {
                p: sorted(i.rpartition("/")[2] for i in self.organization.of(p) if i not in own)
                for p in list(self.organization.objects)
            }
        return {path: ids for path, ids in names.items() if ids}

    def thing(self, path: str, id_: str) -> StoredObject:
        """An object by its id; a topic of Tableflow by its name."""
        with self.organization.lock:
            there = self.organization.of(path)
            return next(stored for key, stored in there.items() if key.rpartition("/")[2] == id_)


def awaited(look: Callable[[], Any]) -> Any:
    """What a look shows at last."""
    seen: list[Any] = []
    wait_for(lambda: seen.append(look()) or seen[-1])
    return seen[-1]


@contextmanager
def cloud_confluent(aws: str | None = None) -> Iterator[CloudConfluent]:
    """The stand-in on a free port, leaning on an AWS if there is one.

    Where Confluent's documents are at hand, they judge all that is said to it and that it answers.
    """
    port = free_port()
    cloud = CloudConfluent(Organization(Places(f"http://127.0.0.1:{port}", aws)))
    cloud.reset()
    running = server(cloud.organization, port)
    thread = Thread(target=running.run, daemon=True)
    thread.start()
    wait_for(lambda: running.started)
    try:
        with judged(cloud.url) as seen:
            yield cloud
        assert seen is None or not seen.mistakes, seen.report()
    finally:
        running.should_exit = True
        thread.join(10)


class Store:
    """A store of secrets that is a dictionary."""

    def __init__(self) -> None:
        self.secrets: dict[str, dict[str, str]] = {}

    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        self.secrets[name] = dict(values)

    def get(self, name: str) -> dict[str, str] | None:
        return self.secrets.get(name)

    def pending(self, name: str) -> dict[str, str] | None:
        return None

    def delete(self, name: str) -> None:
        self.secrets.pop(name, None)


@dataclass(frozen=True)
class Given:
    """Something of another cloud that is simply there."""

    address: str
    needs: tuple[str, ...] = ()
    facts: Facts = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()

    def wanted(self, known: Known) -> Facts:
        return {}

    def read(self, known: Known) -> Facts:
        return self.facts

    def create(self, known: Known) -> None: ...
    def update(self, there: Facts, known: Known) -> None: ...
    def verify(self, there: Facts, known: Known) -> None: ...

    def delete(self, there: Facts, known: Known) -> None:
        raise GoesWithAnother


@dataclass(frozen=True)
class Account:
    """All that Confluent's objects ask of AWS' client: whose account it is, and what is in the bucket."""

    account: str = "123456789012"
    objects: tuple[str, ...] = ()

    def client(self, service: str) -> Account:
        return self

    def list_object_versions(self, **_: Any) -> dict[str, Any]:
        """What the bucket holds."""
        return {"Versions": [{"Key": key} for key in self.objects]}


KICKSTARTER: dict[str, Any] = {
    "name": "tableflow_kickstarter",
    "prefix": "tableflow",
    "confluent": {
        "topics": [{"name": "stock_trades", "config": {"retention.ms": "604800000"}}],
        "connectors": [{"name": "SampleSourceConnector", "topic": "stock_trades"}],
        "max_cfu": 10,
        "statements": [
            {"name": "drop-totals", "sql": "DROP TABLE IF EXISTS stock_trades_with_totals"},
            {
                "name": "create-totals", "after": ["drop-totals"], "makes": "stock_trades_with_totals",
                "sql": "CREATE TABLE IF NOT EXISTS stock_trades_with_totals AS "
                "SELECT userid, quantity * price AS total_price FROM stock_trades",
            },
        ],
        "tableflow": ["stock_trades", "stock_trades_with_totals"],
    },
    "aws": {"bucket": "tableflow-lake"},
}  # fmt: skip
"""The source systems' deployment, without Snowflake."""


@dataclass
class Deployed:
    """A deployment's objects in Confluent Cloud alone, and what makes them."""

    cloud: CloudConfluent
    document: dict[str, Any] = field(default_factory=lambda: dict(KICKSTARTER))
    store: Store = field(default_factory=Store)
    confluent: Confluent | None = None
    given: dict[str, Any] = field(default_factory=dict)  # what stands for objects of AWS
    adopts: bool = False
    objects: tuple[str, ...] = ()  # keys in the bucket

    @property
    def spec(self) -> DeploymentSpec:
        return DeploymentSpec.model_validate(self.document)

    @property
    def clouds(self) -> Clouds:
        nobody: Any = None
        account: Any = Account(objects=self.objects)
        return Clouds(account, self.confluent or self.cloud.client, nobody, self.store, self.adopts)

    @property
    def resources(self) -> list[Resource]:
        there = ("aws/writer_role", "aws/bucket", "aws/glue")
        given: dict[str, Any] = {each: Given(each) for each in there}
        return [*(given | self.given).values(), *objects(self.spec, self.clouds)]

    def reconciler(self, patience: float = 30.0, *, removes_data: bool = False) -> Reconciler:
        times = {"patience": patience, "margin": 0.3, "pause": 0.1}
        had = partial(former, self.spec, self.clouds)
        return Reconciler(self.resources, former=had, removes_data=removes_data, **times)

    def create(self) -> Known:
        """Makes what is missing; what tests begin with is made once, and copied for the others."""
        if not self._is_where_tests_begin:
            return self.apply()
        document = json.dumps(self.document, sort_keys=True)
        if document not in self.cloud.made_before:
            known = self.apply()
            stored = {name: self.store.get(name) or {} for name in self._secrets}
            made = Made(self.cloud.organization.objects, stored, known)
            self.cloud.made_before[document] = deepcopy(made)
            return known
        again = deepcopy(self.cloud.made_before[document])
        with self.cloud.organization.lock:
            self.cloud.organization.objects.update(again.objects)
        for name, values in again.secrets.items():
            if values:
                self.store.put(name, values, {"frazil": self.spec.name})
        return again.known

    @property
    def _is_where_tests_begin(self) -> bool:
        """Whether all is as the fixtures make it: nothing special is asked for, and nothing there yet."""
        is_plain = self == Deployed(self.cloud, self.document, self.store)
        return is_plain and self.cloud.is_untouched and not any(map(self.store.get, self._secrets))

    @property
    def _secrets(self) -> list[str]:
        """The names of all secrets that its keys may have."""
        names = self.spec.names
        both = ((names.secret(use), names.twin(use)) for use in get_args(KeyUse))
        return [name for name in chain(*both) if name]

    def apply(self, patience: float = 30.0) -> Known:
        """Makes what is missing, never a copy: for tests of how it is made."""
        reconciler = self.reconciler(patience)
        return reconciler.apply(reconciler.plan())

    def delete(self) -> None:
        reconciler = self.reconciler()
        reconciler.destroy(reconciler.removal())
