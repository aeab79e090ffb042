"""Named statements of Flink SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from frazil.errors import RepairError
from frazil.quoting import quoted
from frazil_cloud.confluent.accounts.keys import statements_path
from frazil_cloud.confluent.client import settled_key, stored_pair
from frazil_cloud.confluent.kafka import topic_is_there
from frazil_cloud.confluent.plane import Json, Plane
from frazil_cloud.confluent.resource import Thing
from frazil_cloud.resource import Facts, Known, NotYet, RefusedYet
from frazil_cloud.secrets import SecretStore
from frazil_cloud.spec.confluent import Statement

_RIGHTS = "the roles FlinkDeveloper on the environment and Assigner on the account that runs statements"
_KEY, _ROLE = "confluent/key/flink", "confluent/binding/flink-FlinkDeveloper"
_GOES_ON = re.compile(r"\bAS\s+SELECT\b|\bINSERT\s+INTO\b", re.IGNORECASE)
_MAKES = re.compile(r"\bCREATE\s+TABLE\b", re.IGNORECASE)
_STATES: Mapping[str, Literal["works", "stopped", "failed"]] = {
    "RUNNING": "works", "COMPLETED": "works", "DEGRADED": "works",
    "STOPPED": "stopped", "FAILED": "failed", "FAILING": "failed",
}  # fmt: skip
"""All other phases are on their way. One that is DEGRADED runs, and what it knows would go with it
(https://docs.confluent.io/cloud/current/flink/operate-and-deploy/monitor-statements.html)."""


@dataclass(frozen=True, kw_only=True)
class FlinkStatement(Thing):
    """A statement that has ended, or that runs forever.

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

    @property
    def fixed(self) -> frozenset[str]:  # type: ignore[override]
        """What goes on keeps its text: Flink can't change it, and another statement begins anew."""
        return frozenset({"sql"} if _GOES_ON.search(self.spec.sql) else ())

    def wanted(self, known: Known) -> Facts:
        """Its text, and that it works."""
        return {"sql": self.spec.sql, "state": "works"}

    def read(self, known: Known) -> Facts | None:
        """As it is, or as it was before it was forgotten."""
        body = self._body(known, self.spec.name)
        if body is None:
            forgotten = any(self._body(known, name) for name in self.followers)
            return {"sql": self.spec.sql, "state": "works", "detail": "forgotten"} if forgotten else None
        phase, detail = body["status"]["phase"], body["status"].get("detail", "")
        if phase not in _STATES:
            raise NotYet(f"the statement is {phase}")
        return {"sql": body["spec"]["statement"], "state": _STATES[phase], "phase": phase, "detail": detail}

    def create(self, known: Known) -> None:
        """Submits it, as the account that runs statements."""
        if _MAKES.search(self.spec.sql):
            self._refuse_lost_rows("is gone", "Somebody removed it.", known)
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
        """Resumes one that was stopped. Another one is removed; the next look submits it anew."""
        if there["state"] == "stopped":
            self._resume(known)
            return
        if there["state"] == "failed":
            self._refuse_lost_rows("FAILED", str(there["detail"]), known)
        self.delete(there, known)
        why = f"it FAILED: {there['detail']}" if there["state"] == "failed" else "another text"
        raise RefusedYet(f"the statement is submitted anew: {why}")

    def delete(self, there: Facts, known: Known) -> None:
        """Stops and removes it; a topic that it made stays with the cluster."""
        self._plane(known).delete(f"{statements_path(known)}/{self.spec.name}")

    def verify(self, there: Facts, known: Known) -> None:
        """It runs, or ended well."""
        body = self._body(known, self.spec.name)
        phase = body["status"]["phase"] if body else "COMPLETED"
        if phase not in ("RUNNING", "COMPLETED"):
            raise RefusedYet(f"the statement is {phase}: {(body or {})['status'].get('detail', '')}")

    def _resume(self, known: Known) -> None:
        """The gateway takes the whole statement, with the version that was read."""
        if (body := self._body(known, self.spec.name)) is not None:
            resumed = {**body, "spec": {**body["spec"], "stopped": False}}
            self._plane(known).ask("PUT", f"{statements_path(known)}/{self.spec.name}", resumed)

    def _refuse_lost_rows(self, became: str, why: str, known: Known) -> None:
        """What made a table is not submitted again: over a table that is there it may start no job."""
        makes, goes_on = self.spec.makes, _GOES_ON.search(self.spec.sql)
        if not makes or not goes_on or not topic_is_there(self.confluent, self.secrets, known, makes):
            return
        raise RepairError(
            f"The statement {self.spec.name} {became}, and its table {makes} is there.",
            where=why,
            meaning="It was left as it is. Submitted again, it might start no job, and no row would come.",
            todo=f"Fix the reason. If the rows of {makes} may go: delete the statement and drop the table, "
            f"then `frazil deploy create`. Else write its query as INSERT INTO {quoted(makes)}, under "
            "another name, from the offsets that it reached (docs/cloud.md), or its rows come twice. Take "
            f"out each statement that drops {makes}: it may run again.",
        )

    def _plane(self, known: Known) -> Plane:
        known[_ROLE]  # without it all is refused, for as long as anybody waits
        pair = stored_pair(self.secrets, known, _KEY)
        return self.confluent.flink(self.region, pair, settled_key(known, _KEY))

    def _body(self, known: Known, name: str) -> Json | None:
        return self._plane(known).get(f"{statements_path(known)}/{name}")
