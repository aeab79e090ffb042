"""Keeps a Glue entry in step with an Iceberg table, under Glue's version check.

Glue as other engines see it: a table of type ICEBERG whose `metadata_location` is the current one.
Format: the table parameters that Iceberg's own GlueCatalog writes (GlueTableOperations).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

import stamina

from frazil.connections import Connections
from frazil.errors import CommitConflictError, NotYetError, RepairError
from frazil.publishing.adoption import adopt, is_adopted
from frazil.publishing.columns import Column, columns_in, differences, digest_of
from frazil.publishing.glue_answers import MEANING, Again, answers, ask, entry_of, glue_errors, send
from frazil.publishing.labels import Labels, label_differences, labelled, labels_in, labels_of
from frazil.publishing.lf_tags import LfTags, lf_tags_of
from frazil.publishing.pointer import is_foreign, waited, ways_on
from frazil.publishing.target import Maker, Shown
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors, is_lost
from frazil.tables.catalogs.glue_limits import fitting
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import glue_table, glue_type
from frazil.tables.metadata.snapshots import number

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType

_PUT = "frazil.metadata_location"
"""Parameter of an entry: the metadata that Frazil put there. Other engines move Iceberg's own only."""

_COLUMNS = "frazil.columns"
"""Parameter of an entry: a digest of the columns that Frazil put there with that metadata."""

_TABLEFLOW = Maker(
    "Tableflow's catalog integration", todo="Look at the topic's Tableflow in Confluent Cloud."
)


class Glue:
    """The Glue entry of one table."""

    word: ClassVar[str] = "glue"
    check: ClassVar[str] = "glue_pointer"
    icon: ClassVar[str] = "aws"
    blocking: ClassVar[bool] = True

    def __init__(self, spec: AnyTable, settings: Settings) -> None:
        self._settings, self._table = settings, things(spec, settings).table
        self._foreign_commits = spec.foreign_commits
        self.maker = _TABLEFLOW if spec.is_read_only else None
        self.database = ("" if self.maker else settings.glue.database) or self._table.namespace
        own = not self.maker and settings.catalog != "glue"  # else others write the entry
        self._labels = labels_of(spec) if own else {}
        tags = {} if self.maker else lf_tags_of(spec, settings)
        self.lf_tags = LfTags(self.database, self._table.table, tags, settings.glue.catalog_id or "")
        self.path: AssetPath = (self.word, self.database, self._table.table)
        self.upstream: AssetPath = ("iceberg", *self._table.identifier)
        self.relations: tuple[str, ...] = (f"{self.database}.{self._table.table}",)
        does = (
            f"{self.maker} keeps it; materializing it only looks at it."
            if self.maker
            else "Materializing it points the entry to the current metadata of Iceberg table "
            f"`{self._table}`, under Glue's version check."
        )
        self.about = f"Glue entry `{self.relations[0]}`, of type ICEBERG. {does}"

    @property
    def page(self) -> str | None:
        """See `Target`."""
        if self._settings.glue_endpoint:
            return None
        region, catalog = self._settings.aws.region, self._settings.glue.catalog_id
        database, name = (quote(part, safe="") for part in self.path[1:])
        account = f"&catalogId={catalog}" if catalog else ""
        at = f"https://{region}.console.aws.amazon.com/glue/home?region={region}"
        return f"{at}#/v2/data-catalog/tables/view/{name}?database={database}{account}"

    def column_type(self, kind: IcebergType) -> str:
        """See `Target`."""
        return glue_type(kind)

    def read(self, connections: Connections) -> Shown | None:
        """See `Target`."""
        with self._errors():
            shown = self.shown_by(self._entry(connections.glue))
            return self.with_lf_tags(shown, connections) if shown else None

    def shown_by(self, entry: dict[str, Any] | None) -> Shown | None:
        """What an entry of this table shows; None where there is none."""
        return self._shown(entry, changed=False) if entry else None

    def with_lf_tags(self, shown: Shown, connections: Connections) -> Shown:
        """The same with the LF-tags that are compared, each of which Lake Formation is asked for."""
        tags = self.lf_tags.read(connections)
        return replace(shown, labels={**(shown.labels or {}), **tags}) if tags else shown

    def columns(self, table: Table) -> tuple[Column, ...] | None:
        """See `Target`; the columns of entries that others write are theirs."""
        if self.maker or self._settings.catalog == "glue":
            return None
        return columns_in(fitting(glue_table(table, self._table.table, None, {})))

    def labels(self) -> Labels:
        """See `Target`."""
        return {**self._labels, **self.lf_tags.labels}

    def sync(self, connections: Connections) -> Shown:
        """See `Target`. After a refusal or a lost answer the entry is looked up before it is sent again.

        The entry's version is read before the table's metadata: so an update that Glue accepts never
        moves the pointer back.
        """
        if self.maker:
            return self._kept(connections)
        sent: dict[str, str] = {}
        with self._errors():
            for attempt in stamina.retry_context(on=Again, attempts=8, wait_initial=0.05, wait_max=1.0):
                with attempt:
                    return self._sync_once(connections, sent)
        raise AssertionError("the last attempt returns or raises")

    def drop(self, connections: Connections) -> None:
        """See `Target`."""
        client = connections.glue
        with glue_errors(self._settings), suppress(client.exceptions.EntityNotFoundException), answers():
            client.delete_table(DatabaseName=self.database, Name=self._table.table)

    def _kept(self, connections: Connections) -> Shown:
        """The entry as Tableflow keeps it."""
        if shown := self.read(connections):
            return shown
        raise NotYetError(
            f"Glue has no entry {self.relations[0]} yet.",
            meaning=MEANING,
            todo=f"{self.maker} makes it, minutes after the table; look at its state in Confluent Cloud.",
        )

    def _sync_once(self, connections: Connections, sent: dict[str, str]) -> Shown:
        """One attempt; `sent`: locations that attempts sent, with the foreign one that each replaces."""
        client = connections.glue
        self._make_database(client)
        entry = self._entry(client)
        with catalog_errors(self._settings):
            table = TableHandle(connections.catalog, self._table).load()
        current = table.metadata_location
        if entry and _parameter(entry, "metadata_location") == current and not self._differs(entry, table):
            self.lf_tags.keep(connections)
            return self._shown(entry, changed=current in sent, replaced=_first(sent))
        foreign = self._foreign(entry, table) if entry else ""
        if foreign and self._foreign_commits == "adopt":
            adopt(TableHandle(connections.catalog, self._table), foreign)
            raise Again  # the table has another head now
        sent[current] = foreign
        before = _parameter(entry, "metadata_location") if entry else None  # `glue_table` changes the entry
        entry_now = dict(entry or {})
        marks = {_PUT: current, _COLUMNS: digest_of(self.columns(table) or ())}
        wanted = labelled(glue_table(table, self._table.table, entry, marks), entry_now, self._labels)
        self._put(connections, wanted, entry)
        shown = self._shown(self._entry(client) or {}, changed=True, replaced=_first(sent))
        return replace(shown, waited=waited(table, before, time.time()))

    def _put(self, connections: Connections, wanted: dict[str, Any], entry: dict[str, Any] | None) -> None:
        """Makes the entry, or changes the one that is there once its tags are right."""
        client = connections.glue
        if entry is None:
            send(client, partial(client.create_table, DatabaseName=self.database, TableInput=wanted))
            self.lf_tags.keep(connections)
        else:
            self.lf_tags.keep(connections)
            update = partial(client.update_table, DatabaseName=self.database, TableInput=wanted)
            send(client, partial(update, VersionId=entry["VersionId"], SkipArchive=True))

    def _differs(self, entry: dict[str, Any], table: Table) -> bool:
        """Whether somebody changed the columns of the entry, or what it says, and left its pointer alone."""
        columns = differences(columns_in(entry), self.columns(table))
        return bool(columns or label_differences(labels_in(entry), self._labels))

    def _foreign(self, entry: dict[str, Any], table: Table) -> str:
        """The metadata that another engine put there; empty where none did, or that is gone or adopted.

        Raises RepairError where there is some, and the spec does not say what to do about it.
        """
        shown = self._shown(entry, changed=False)
        if not is_foreign(table, shown) or is_adopted(table, shown.metadata_location):
            return ""
        if self._foreign_commits == "alarm":
            raise RepairError(
                f"Another engine committed to the Glue entry {shown.name}, or the entry is of another table.",
                where=f"it names {shown.metadata_location or 'no metadata'}; the Iceberg table {self._table} "
                f"is at {table.metadata_location}",
                meaning="The Iceberg table is right, and lacks what the other engine wrote. The entry was "
                "left as it is, and what it shows is not deleted.",
                todo=ways_on(str(self._table)),
            )
        return shown.metadata_location or "no metadata"

    def _make_database(self, client: Any) -> None:
        try:
            ask(partial(client.get_database, Name=self.database))
        except client.exceptions.EntityNotFoundException:
            wanted = {"Name": self.database, "Description": "By Frazil."}
            send(client, partial(client.create_database, DatabaseInput=wanted))

    def _entry(self, client: Any) -> dict[str, Any] | None:
        return entry_of(client, self.database, self._table.table)

    def _shown(self, entry: dict[str, Any], *, changed: bool, replaced: str = "") -> Shown:
        columns = columns_in(entry)
        return Shown(
            self.path,
            self.upstream,
            self.relations[0],
            _parameter(entry, "metadata_location"),
            changed,
            facts={"version": number(entry, "VersionId")},
            put=_parameter(entry, _PUT),
            replaced=replaced,
            columns=columns,
            as_put=_parameter(entry, _COLUMNS) == digest_of(columns),
            labels=None if self.maker or self._settings.catalog == "glue" else labels_in(entry),
            account=str(entry.get("CatalogId") or ""),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """As `glue_errors`; also says what is known where others are always quicker."""
        with glue_errors(self._settings):
            try:
                yield
            except Again as e:
                met = e.__cause__
                if isinstance(met, Exception) and is_lost(met):
                    raise met from None
                raise CommitConflictError(
                    "The Glue entry was changed by others again and again.",
                    where=self.relations[0],
                    meaning=MEANING,
                    todo=f"`frazil sync {self._table}` tries again.",
                ) from met


def _first(sent: dict[str, str]) -> str:
    """The foreign metadata that one of the attempts found."""
    return next(filter(None, sent.values()), "")


def _parameter(entry: dict[str, Any], name: str) -> str:
    return str(entry.get("Parameters", {}).get(name, ""))
