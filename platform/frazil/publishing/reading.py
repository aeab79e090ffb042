"""What many targets show, at the least cost: Glue a database at a time, Snowflake in one session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.connections import Connections
from frazil.errors import FrazilError, NotAllowedError, explain
from frazil.publishing.glue import Glue
from frazil.publishing.glue_answers import entries_of, glue_errors
from frazil.publishing.pointer import metadata_shown
from frazil.publishing.snowflake.connection import connection_errors, statement_errors
from frazil.publishing.snowflake.governance.grants import RoleRights, rights_of
from frazil.publishing.snowflake.governance.protection import Protected
from frazil.publishing.snowflake.governance.tags import tags_on_each
from frazil.publishing.snowflake.looks import (
    Look,
    asked,
    counted,
    listed_columns,
    listed_comments,
    listed_texts,
    refreshed,
)
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import name_of
from frazil.tables.catalogs.pointers import Pointer, load_pointers, table_of
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.session import live_rows

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from snowflake.connector import SnowflakeConnection

_AT_ONCE = 8

_FEW = 5
"""Entries of one database, or tables of Snowflake, that are asked for one by one."""

Seen: TypeAlias = Shown | FrazilError | None
"""What a target shows, why it does not tell, or None where it does not know the table."""


@dataclass(frozen=True, slots=True)
class AtRest:
    """A table all of whose targets show its current metadata, with the columns that Frazil put beside it."""

    metadata_location: str


def is_listed(target: Target) -> bool:
    """Whether many of its tables cost few requests."""
    return isinstance(target, Glue)


def read_all(
    targets: Iterable[Target], connections: Connections, *, counts: bool = False, tags: bool = False
) -> Mapping[AssetPath, Seen]:
    """What each target shows, by the path of its asset; the fault of one keeps none of the others.

    Args:
        targets: Of one set of connections.
        connections: Those.
        counts: Whether Snowflake counts its rows, and says when it refreshed each table last.
        tags: Whether Lake Formation is asked for tags also where Glue lists many tables: a request for each.
    """
    of_glue: dict[str, list[Glue]] = defaultdict(list)
    of_snowflake: list[Snowflake] = []
    seen: dict[AssetPath, Seen] = {}
    for target in targets:
        if isinstance(target, Glue):
            of_glue[target.database].append(target)
        elif isinstance(target, Snowflake):
            of_snowflake.append(target)
        else:
            seen |= _each([target], lambda each: each.read(connections))
    for database, own in of_glue.items():
        seen |= _of_database(database, own, connections, tags=tags)
    return {**seen, **_in_one_session(of_snowflake, connections, counts=counts)}


def snowflake_before(specs: Iterable[AnyTable], connections: Connections) -> Mapping[AssetPath, Seen]:
    """What Snowflake shows of many tables that are to be published; nothing of few, where that costs more."""
    targets = [
        target
        for spec in specs
        for target in targets_of(spec, connections.settings)
        if isinstance(target, Snowflake)
    ]
    return _in_one_session(targets, connections, counts=False) if len(targets) > _FEW else {}


def resting(
    specs: Iterable[AnyTable], seen: Mapping[AssetPath, Seen], connections: Connections
) -> Iterator[tuple[AssetPath, Table | AtRest | FrazilError]]:
    """Those tables whose targets all name the catalog's own metadata, by assets; and why one is unknown.

    A table has its columns of now here, and its head; its metadata is not looked into where each target has
    columns as they were put. Once the catalog does not answer it is asked for no other table.
    """
    settings = connections.settings
    targets = {things(spec, settings).table: targets_of(spec, settings) for spec in specs}
    plain = {
        name: [seen[target.path] for target in of]
        for name, of in targets.items()
        if all(isinstance(target, (Glue, Snowflake)) for target in of)
    }
    known = {name: location for name, of in plain.items() if (location := _put_with_columns(of))}
    for pointer in load_pointers(connections.catalog, plain, known, columns=True):
        if pointer.error or all(_names(shown, pointer.location) for shown in plain[pointer.name]):
            yield ("iceberg", *pointer.name.identifier), _table_or_why(pointer, connections)


def _put_with_columns(shown: Sequence[Seen]) -> str:
    """The metadata that Frazil put into all of them with the columns that they show; else empty."""
    put = {each.put if isinstance(each, Shown) and each.as_put else None for each in shown}
    return (put.pop() or "") if len(put) == 1 else ""


def _names(seen: Seen, location: str | None) -> bool:
    return isinstance(seen, Shown) and seen.metadata_location == location


def _table_or_why(pointer: Pointer, connections: Connections) -> Table | AtRest | FrazilError:
    try:
        with catalog_errors(connections.settings):
            if pointer.error is not None:
                raise pointer.error
            if pointer.location and pointer.metadata is None:
                return AtRest(pointer.location)
            return table_of(pointer, connections.catalog)
    except Exception as e:  # noqa: BLE001 - it is why nothing can be compared
        return explain(e)


def rows_shown(seen: Shown, table: Table, rows: int, connections: Connections) -> int | None:
    """How many rows readers of a target see; None where nobody knows.

    As the target counts them; else those of the metadata that it names, which engines read.

    Args:
        seen: What the target shows.
        table: The table.
        rows: Its own, at its head.
        connections: To where it is.
    """
    if seen.rows is not None:
        return seen.rows
    metadata = metadata_shown(table, seen.metadata_location)
    if metadata is None:
        return None
    at = metadata.current_snapshot_id
    if at == table.metadata.current_snapshot_id:
        return rows
    snapshot = None if at is None else metadata.snapshot_by_id(at)
    if number(summary_of(snapshot), "total-delete-files") and table.metadata.snapshot_by_id(at or 0) is None:
        return None  # Spark reads the table's own snapshots only
    return live_rows(connections, name_of(table), snapshot)


def _of_database(
    database: str, targets: Sequence[Glue], connections: Connections, *, tags: bool
) -> dict[AssetPath, Seen]:
    entries: Mapping[str, dict[str, Any]]
    if len(targets) <= _FEW:
        return _each(targets, lambda target: target.read(connections))
    try:
        with glue_errors(connections.settings):
            entries = entries_of(connections.glue, database)
    except NotAllowedError:  # the list of all tables is a right of its own
        return _each(targets, lambda target: target.read(connections))
    except FrazilError as e:
        return {target.path: e for target in targets}
    listed = {target.path: target.shown_by(entries.get(target.path[-1])) for target in targets}
    return {**listed, **_tagged(targets, listed, connections)} if tags else dict(listed)


def _tagged(
    targets: Sequence[Glue], listed: Mapping[AssetPath, Shown | None], connections: Connections
) -> dict[AssetPath, Seen]:
    """Those with LF-tags, several at once, for a request takes tens of milliseconds."""

    def ask(target: Glue) -> Shown | None:
        shown = listed[target.path]
        with glue_errors(connections.settings):
            return target.with_lf_tags(shown, connections) if shown else None

    own = [target for target in targets if target.lf_tags.wanted]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="tags") as pool:
        parts = pool.map(lambda target: _each([target], ask), own)
        return {path: seen for part in parts for path, seen in part.items()}


def _in_one_session(
    targets: Sequence[Snowflake], connections: Connections, *, counts: bool
) -> dict[AssetPath, Seen]:
    if not targets:
        return {}
    try:
        settings = connections.settings
        with (
            connection_errors(settings),
            connections.snowflake() as connection,
            statement_errors("Snowflake"),
        ):
            return _shown_together(targets, connection, settings, counts=counts)
    except Exception as e:  # noqa: BLE001 - it is what each of them shows
        return {target.path: explain(e) for target in targets}


def _shown_together(
    targets: Sequence[Snowflake], connection: SnowflakeConnection, settings: Settings, *, counts: bool
) -> dict[AssetPath, Seen]:
    """What Snowflake shows of each table, by statements for a hundred of them."""
    rights = _role_rights(connection, settings)
    look = _look_at(targets, connection, counts=counts)
    wanted = {
        target.path: target.protection.tags_on(name for name, _ in look.columns.get(target.table, ()))
        for target in targets
        if target.protection.labels and target.table in look.locations
    }
    tags = asked(partial(tags_on_each, connection), list(wanted.values()))

    def shown(target: Snowflake) -> Seen:
        values = tags.get(wanted[target.path], {}) if target.path in wanted else {}
        if isinstance(values, FrazilError):
            return values
        with connection_errors(settings), statement_errors(str(target.table)):
            there = target.table in look.locations
            protected = target.protection.read(connection, values) if there else Protected()
        return target.shown_by(look, protected, rights=rights)

    return _each(targets, shown)


def _look_at(targets: Sequence[Snowflake], connection: SnowflakeConnection, *, counts: bool) -> Look:
    listed = listed_columns(connection, (r for target in targets for r in (target.table, *target.views)))
    tables = [target.table for target in targets if target.maker or target.table in listed]
    locations = targets[0].locations(connection, tables)
    commented = [v for target in targets if target.comment for v in target.views if v in listed]
    compared = [view for target in targets for view in target.compared if view in listed]
    comments, texts = listed_comments(connection, commented), listed_texts(connection, compared)
    if not counts:
        return Look(listed, comments, texts, locations)
    there = list(locations)
    return Look(listed, comments, texts, locations, counted(connection, there), refreshed(connection, there))


def _role_rights(connection: SnowflakeConnection, settings: Settings) -> RoleRights:
    """What the role that should read holds, in one statement for all tables."""
    role = settings.snowflake.role
    with statement_errors(f"role {role}"):
        return rights_of(connection, role)


def _each(targets: Sequence[Any], read: Callable[[Any], Seen]) -> dict[AssetPath, Seen]:
    seen: dict[AssetPath, Seen] = {}
    for target in targets:
        try:
            seen[target.path] = read(target)
        except Exception as e:  # noqa: BLE001 - it is what this one shows
            seen[target.path] = explain(e)
    return seen
