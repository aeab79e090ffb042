"""The databases of Glue: Frazil's own, and the one that Tableflow makes and nobody else removes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.aws.mark import ANOTHER_DEPLOYMENT, foreign
from frazil_cloud.resource import Facts, Known, NotYet
from frazil_cloud.spec.deployment import DeploymentSpec

_MARK = "frazil.deployment"
_TABLEFLOW = "frazil.tableflow_database"
_FORMER = "frazil.former"
_NAMED = ("bucket", "writer_role", "reader_role")
_BATCH = 100  # tables that one call deletes
_CLUSTER = "confluent/cluster"


@dataclass(frozen=True)
class GlueDatabase:
    """`aws/glue`.

    Tableflow's database is named as the cluster's id. The own one notes that name, so that it is known
    when the cluster is gone (D13), and the names of bucket and roles, so that those before are known.
    """

    aws: Aws
    spec: DeploymentSpec
    address: str = "aws/glue"
    fixed: ClassVar[frozenset[str]] = frozenset()

    @property
    def needs(self) -> tuple[str, ...]:
        """The cluster that Tableflow's database is named after, where Tableflow writes."""
        return (_CLUSTER,) if self.spec.confluent and self.spec.confluent.tableflow else ()

    def wanted(self, known: Known) -> Facts:
        """Its name, and those that it notes."""
        theirs = str(known[_CLUSTER]["id"]) if self.needs else None
        names = self.spec.names
        return {
            "database": self._name,
            "tableflow_database": theirs,
            "bucket": self.spec.aws.bucket,
            "writer_role": names.writer_role,
            "reader_role": names.reader_role if self.spec.snowflake else None,
        }

    def read(self, known: Known) -> Facts | None:
        """The same as it is noted, with the names before; None where the database is somebody else's."""
        with suppress(GoneError):
            noted = self._glue.get_database(Name=self._name)["Database"].get("Parameters", {})
            if noted.get(_MARK) == self.spec.name:
                return {
                    "database": self._name,
                    "tableflow_database": noted.get(_TABLEFLOW),
                    **{kind: noted.get(f"frazil.{kind}") for kind in _NAMED},
                    "former": json.loads(noted.get(_FORMER, "[]")),
                }
        return None

    def create(self, known: Known) -> None:
        """Makes the own one."""
        try:
            self._glue.create_database(DatabaseInput=self._input(known, []))
        except ThereError:
            if self.read(known) is None:
                what = f"Glue's database {self._name}"
                raise foreign(self.spec, what, ANOTHER_DEPLOYMENT, f"parameter {_MARK}") from None
            raise NotYet(f"Glue's database {self._name} was not seen") from None

    def update(self, there: Facts, known: Known) -> None:
        """Notes other names, and keeps those before."""
        database = self._input(known, [list(each) for each in former_names(self.wanted(known), there)])
        self._glue.update_database(Name=self._name, DatabaseInput=database)

    def delete(self, there: Facts, known: Known) -> None:
        """Removes both with their tables, the own one last: it knows of the other."""
        for name in filter(None, (there["tableflow_database"], self._name)):
            with suppress(GoneError):
                self._empty(name)
                self._glue.delete_database(Name=name)

    def verify(self, there: Facts, known: Known) -> None:
        """Lists its tables; the writer's role proves more."""
        list(self._tables(self._name))

    @property
    def _name(self) -> str:
        return self.spec.names.glue_database

    @property
    def _glue(self) -> Any:
        return self.aws.client("glue")

    def _input(self, known: Known, former: list[list[str]]) -> dict[str, Any]:
        wanted = self.wanted(known)
        named = {_TABLEFLOW: wanted["tableflow_database"], **{f"frazil.{k}": wanted[k] for k in _NAMED}}
        noted = {_MARK: self.spec.name, _FORMER: json.dumps(former)}
        return {"Name": self._name, "Parameters": noted | {k: v for k, v in named.items() if v}}

    def _tables(self, database: str) -> Iterator[list[str]]:
        for page in self._glue.pages("get_tables", DatabaseName=database):
            yield [table["Name"] for table in page["TableList"]]

    def _empty(self, database: str) -> None:
        names = [name for page in self._tables(database) for name in page]
        for start in range(0, len(names), _BATCH):
            self._glue.batch_delete_table(DatabaseName=database, TablesToDelete=names[start : start + _BATCH])


def former_names(wanted: Facts, there: Facts) -> list[tuple[str, str]]:
    """Kinds and names of what had another name before."""
    noted = {*((kind, there[kind]) for kind in _NAMED if there[kind]), *map(tuple, there["former"])}
    return sorted(noted - {(kind, wanted[kind]) for kind in _NAMED})
