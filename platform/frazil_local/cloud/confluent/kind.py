"""What all objects of the management API have in common: they are made, listed, shown and removed alike."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from frazil_local.cloud.confluent.access import ADMINS, CLOUD, caller, need
from frazil_local.cloud.confluent.bodies import Body, judged
from frazil_local.cloud.confluent.organization import ENVIRONMENTS, Json, Organization, StoredObject
from frazil_local.cloud.confluent.refusals import Refusal, forbidden, missing


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    path: str
    params: dict[str, str]  # in the path
    query: dict[str, str]
    body: Json
    authorization: str = field(repr=False)


Answer = tuple[int, Json | None]
"""Status and body."""


class Kind:
    """One kind of object; subclasses say what is special about theirs."""

    path: ClassVar[str]
    name: ClassVar[str]
    body: ClassVar[type[Body]]
    prefix: ClassVar[str] = ""
    plane: ClassVar[str] = CLOUD
    unique: ClassVar[tuple[str, ...]] = ()
    status: ClassVar[int] = 201
    removed: ClassVar[int] = 204
    phases: ClassVar[tuple[str, str] | None] = None  # at birth, and at rest
    after_life: ClassVar[int] = 404  # what is answered for one that is gone
    asks_for: ClassVar[tuple[str, ...]] = ()  # what a query must say
    lists_by: ClassVar[tuple[str, ...]] = ()  # what it must say besides where many are asked for
    lingers: ClassVar[bool] = False  # takes a while to go

    def key(self, body: Json) -> str:
        """What tells an object from all others of its kind."""
        return str(body["id"])

    def sought(self, call: Call) -> str:
        """The key of the object that a call is about."""
        return call.params["id"]

    def place(self, organization: Organization, body: Json) -> str:
        """The name of what holds the object: who makes or removes it must be an administrator there."""
        environment = spec_of(body).get("environment", {}).get("id")
        return f"{organization.crn}/environment={environment}" if environment else organization.crn

    def complete(self, organization: Organization, body: Json, owner: str) -> None:
        """Adds what the cloud knows of a new object, or refuses it."""

    def proof(self, organization: Organization, body: Json) -> str | None:
        """What keeps it from coming to rest, if anything does."""

    def follow(self, organization: Organization, body: Json) -> None:
        """Removes what goes with it, or refuses to let it go."""

    def answer(self, organization: Organization, call: Call) -> Answer:
        """Carries out one request."""
        owner = caller(organization, call.authorization, self.plane)
        self._judge(call)
        if "id" not in call.params:
            if call.method == "POST":
                return self._create(organization, call.body, owner)
            return 200, self._listed(organization, call.query)
        stored = self._object(organization, call)
        need(organization, owner, ADMINS, self.place(organization, stored.body))
        if call.method == "DELETE":
            body = self.shown(organization, stored)
            self._remove(organization, stored)
            return self.removed, body if self.removed == 200 else None
        if call.method == "PATCH":
            self.change(organization, stored, call.body)
        return 200, self.shown(organization, stored)

    def _judge(self, call: Call) -> None:
        if call.method in ("POST", "PATCH"):
            return
        asked = self.asks_for if "id" in call.params else (*self.asks_for, *self.lists_by)
        if lacking := [name for name in asked if name not in call.query]:
            raise Refusal(400, f"query parameter {lacking[0]} is required")

    def is_seen(self, organization: Organization, stored: StoredObject) -> bool:
        """Whether it is among those that are listed."""
        return True

    def change(self, organization: Organization, stored: StoredObject, body: Json) -> None:
        """Takes new values; most fields of most kinds never change."""
        inside = spec_of(body)
        fixed = set(inside) - {"display_name", "description", "environment", "max_cfu", "package"}
        if fixed:
            raise Refusal(400, f"{min(fixed)} can't be changed")
        spec_of(stored.body).update({k: v for k, v in inside.items() if k != "environment"})

    def shown(self, organization: Organization, stored: StoredObject, fresh: bool = False) -> Json:
        """The object as it is answered now; its phase follows its age."""
        self._grow(organization, stored)
        body = copy.deepcopy(stored.body)
        if stored.leaves is not None:
            body["metadata"]["deleted_at"] = _time(time.time())
        here = organization.places.here
        document: Json = _related(body, f"{here}/related", organization.crn)
        return document

    def _grow(self, organization: Organization, stored: StoredObject) -> None:
        """Brings an object to rest, or finds that what it leans on is gone."""
        status = stored.body.get("status", {})
        if self.phases is None or not self._is_to_prove(organization, stored, self.phases):
            return
        stored.proved = time.time()
        problem = self.proof(organization, stored.body)
        if organization.knobs.fails(self.name):
            problem = "an internal error of the stand-in: fail_next asked for it"
        status["phase"] = "FAILED" if problem else self.phases[1]
        if problem:
            status["error_message"] = problem

    def _is_to_prove(self, organization: Organization, stored: StoredObject, phases: tuple[str, str]) -> bool:
        if stored.body["status"]["phase"] == phases[0]:
            return organization.is_older(stored, organization.delays.provision)
        again = stored.proved + organization.delays.prove_again <= time.time()
        return stored.body["status"]["phase"] == phases[1] and again

    def _create(self, organization: Organization, body_given: Json, owner: str) -> Answer:
        body = judged(self.body, body_given).model_dump(exclude_none=True)
        need(organization, owner, ADMINS, self.place(organization, body))
        environment = spec_of(body).get("environment", {}).get("id")
        if environment and environment not in organization.of(ENVIRONMENTS):
            raise forbidden()
        self._refuse_twin(organization, body)
        api, name = self.path.strip("/").rpartition("/")[0], self.name
        new: Json = {"api_version": api, "kind": name, "id": organization.new_id(self.prefix), **body}
        if self.phases:
            new["status"] = {"phase": self.phases[0]}
        self.complete(organization, new, owner)
        new["metadata"] = self._metadata(organization, new["id"])
        stored = organization.add(self.path, self.key(new), new)
        return self.status, self.shown(organization, stored, fresh=True)

    def _metadata(self, organization: Organization, id_: str) -> Json:
        now = _time(time.time())
        address = f"{organization.places.here}{self.path}/{id_}"
        named = f"{organization.crn}/{self.name.lower()}={id_}"
        return {"self": address, "resource_name": named, "created_at": now, "updated_at": now}

    def _refuse_twin(self, organization: Organization, body: Json) -> None:
        mine = {name: _flat(body).get(name) for name in (*self.unique, "environment", "spec.kafka_cluster")}
        for id_, other in organization.of(self.path).items():
            theirs = _flat(other.body)
            if self.unique and other.leaves is None and all(theirs.get(k) == v for k, v in mine.items()):
                location = f"{organization.places.here}{self.path}/{id_}"
                raise Refusal(409, f"{self.unique[0]} is already in use", headers={"Location": location})

    def _listed(self, organization: Organization, query: dict[str, str]) -> Json:
        things = organization.of(self.path).values()
        fitting = [h for h in things if self.is_seen(organization, h) and self.fits(h.body, query)]
        page, metadata = paged(organization, self.path, fitting, query)
        documents = [self.shown(organization, stored) for stored in page]
        api = self.path.strip("/").rpartition("/")[0]
        return {"api_version": api, "kind": f"{self.name}List", "metadata": metadata, "data": documents}

    def fits(self, body: Json, query: dict[str, str]) -> bool:
        """Whether an object is among those that a query asks for."""
        flat = _flat(body)
        return all(flat[name] == value for name, value in query.items() if flat.get(name))

    def _object(self, organization: Organization, call: Call) -> StoredObject:
        stored = organization.of(self.path).get(self.sought(call))
        if stored is None or not self.fits(stored.body, call.query):
            raise forbidden() if self.after_life == 403 else missing()
        return stored

    def _remove(self, organization: Organization, stored: StoredObject) -> None:
        if stored.leaves is None:
            self.follow(organization, stored.body)
            stored.leaves = time.time() + (organization.delays.provision if self.lingers else 0)


def paged(
    organization: Organization, path: str, all_of: list[Any], query: dict[str, str]
) -> tuple[list[Any], Json]:
    """One page, and the address of the next one if there is more."""
    asked = query.get("page_size", str(organization.delays.page)), query.get("page_token") or "0"
    if not all(each.isdecimal() for each in asked) or not 1 <= int(asked[0]) <= 100:
        raise Refusal(400, "page_size is 1 to 100, and page_token one that was given")
    size, start = map(int, asked)
    if start + size >= len(all_of):
        return all_of[start:], {}
    kept = "".join(f"&{k}={v}" for k, v in query.items() if k not in ("page_token",))
    return all_of[start : start + size], {
        "next": f"{organization.places.here}{path}?page_token={start + size}{kept}"
    }


def spec_of(body: Json) -> Json:
    """Where an object's fields are: in its `spec`, if its kind has one."""
    inside: Json = body.get("spec", body)
    return inside


def _flat(body: Json) -> dict[str, Any]:
    spec = spec_of(body)
    return {
        **{k: v for k, v in body.items() if isinstance(v, str)},
        **{k: v for k, v in spec.items() if isinstance(v, str)},
        "environment": spec.get("environment", {}).get("id"),
        "spec.kafka_cluster": spec.get("kafka_cluster", {}).get("id"),
        "spec.owner": spec.get("owner", {}).get("id"),
        "spec.resource": spec.get("resource", {}).get("id"),
    }


def _related(thing: Any, here: str, crn: str) -> Any:
    """References as the API completes them."""
    if isinstance(thing, list):
        return [_related(each, here, crn) for each in thing]
    if not isinstance(thing, dict):
        return thing
    if "id" in thing and set(thing) <= {"id", "environment", "kind", "api_version"}:
        return {**thing, "related": f"{here}/{thing['id']}", "resource_name": f"{crn}/{thing['id']}"}
    return {k: _related(v, here, crn) for k, v in thing.items()}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
