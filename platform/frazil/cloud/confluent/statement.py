"""Named statements of Flink SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from frazil.cloud.confluent.client import Json, Plane, stored_pair
from frazil.cloud.confluent.keys import statements_path
from frazil.cloud.confluent.resource import Thing
from frazil.cloud.resource import Facts, Known, NotYet, RefusedYet
from frazil.cloud.secrets import SecretStore
from frazil.spec.deployment import Statement

_RIGHTS = "the roles FlinkDeveloper on the environment and Assigner on the account that runs statements"
_KEY = "confluent/key/flink"


@dataclass(frozen=True, kw_only=True)
class FlinkStatement(Thing):
    """A statement that has ended, or that runs for ever.

    Confluent forgets a statement that ended after 30 days. It is not run again then, if one that follows it
    is still there: DROP TABLE before CREATE TABLE would drop what is in use.

    Args:
        spec: The statement.
        region: Of the pool.
        catalog: Name of the environment, in which tables are looked for.
        database: Name of the cluster.
        followers: Names of the statements that come after it.
    """

    spec: Statement
    region: str
    catalog: str
    database: str
    followers: tuple[str, ...] = ()
    secrets: SecretStore = field(repr=False)

    def wanted(self, known: Known) -> Facts:
        """Its text, and that it did not fail."""
        return {"sql": self.spec.sql, "failed": False}

    def read(self, known: Known) -> Facts | None:
        """As it is, or as it was before it was forgotten."""
        body = self._body(known, self.spec.name)
        if body is None:
            forgotten = any(self._body(known, name) for name in self.followers)
            return {"sql": self.spec.sql, "failed": False, "detail": "forgotten"} if forgotten else None
        phase, detail = body["status"]["phase"], body["status"].get("detail", "")
        if phase in ("PENDING", "DELETING", "STOPPING"):
            raise NotYet(f"the statement is {phase}")
        failed = phase in ("FAILED", "FAILING", "DEGRADED")
        return {"sql": body["spec"]["statement"], "failed": failed, "phase": phase, "detail": detail}

    def create(self, known: Known) -> None:
        """Submits it, as the account that runs statements."""
        environment = known["confluent/environment"]
        context = {"sql.current-catalog": self.catalog, "sql.current-database": self.database}
        spec = {
            "statement": self.spec.sql, "compute_pool_id": known["confluent/pool"]["id"],
            "principal": known["confluent/account/flink"]["id"], "properties": context,
        }  # fmt: skip
        where = {"organization_id": environment["organization"], "environment_id": environment["id"]}
        body = {"name": self.spec.name, **where, "spec": spec}
        self._plane(known).post(statements_path(known), body, _RIGHTS)

    def update(self, there: Facts, known: Known) -> None:
        """Removes one that FAILED or says something else; the next look submits it anew."""
        self.delete(there, known)
        why = f"it FAILED: {there['detail']}" if there["failed"] else "another text"
        raise RefusedYet(f"the statement is submitted anew: {why}")

    def delete(self, there: Facts, known: Known) -> None:
        """Stops and removes it; a topic that it made stays with the cluster."""
        self._plane(known).delete(f"{statements_path(known)}/{self.spec.name}")

    def verify(self, there: Facts, known: Known) -> None:
        """It did not fail since."""
        body = self._body(known, self.spec.name)
        if body and body["status"]["phase"] == "FAILED":
            raise RefusedYet(f"the statement FAILED: {body['status'].get('detail', '')}")

    def _plane(self, known: Known) -> Plane:
        return self.confluent.flink(self.region, stored_pair(self.secrets, known, _KEY))

    def _body(self, known: Known, name: str) -> Json | None:
        return self._plane(known).get(f"{statements_path(known)}/{name}")
