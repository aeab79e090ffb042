"""Reads one pipeline: a folder's defs.yaml, every mistake in it named with its line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from frazil.errors import SpecError
from frazil.pipelines.attributes import FILE, attributes_of, component_of, refused
from frazil.pipelines.defaults import OWN, profile_defaults, with_defaults
from frazil.pipelines.places import Document, Place, read_documents
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import legal
from frazil.spec.table import AnyTable, Owners
from frazil.spec.topic import TableSpec

T = TypeVar("T", bound=AnyTable)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One folder of tables, as its defs.yaml tells them: those made of topics, and those made of others."""

    name: str
    folder: Path
    tables: tuple[TableSpec, ...] = ()
    lines: tuple[int, ...] = ()  # in defs.yaml, one for each of the tables
    derived: tuple[DerivedSpec, ...] = ()
    derived_lines: tuple[int, ...] = ()

    @property
    def file(self) -> Path:
        """What the user wrote."""
        return self.folder / FILE

    @property
    def every_table(self) -> tuple[tuple[AnyTable, int], ...]:
        """Each spec, of topics and of tables, with its line."""
        specs: tuple[AnyTable, ...] = (*self.tables, *self.derived)
        return tuple(zip(specs, (*self.lines, *self.derived_lines), strict=True))


def _shared(defaults: dict[str, Any]) -> dict[str, Any]:
    for name in filter(defaults.__contains__, OWN):
        raise ValueError(f"each table names its own {name}")
    return defaults


class _Attributes(BaseModel, Generic[T]):
    model_config = ConfigDict(extra="forbid", frozen=True)

    group: str | None = Field(None, pattern=r"^[A-Za-z0-9_]+$")
    connection: str = ""
    owners: Owners = ()
    defaults: Annotated[dict[str, Any], AfterValidator(_shared)] = Field(default_factory=dict)
    tables: tuple[T, ...] = Field(min_length=1)


_SHARED: Mapping[Place, Place] = {("attributes", "tables"): ("attributes", "defaults")}

_SPECS: Mapping[str, type[AnyTable]] = {"TopicTables": TableSpec, "DerivedTables": DerivedSpec}
"""By the name of the component, whatever module it is from."""


def load_pipeline(folder: Path, settings: Settings) -> Pipeline | None:
    """The pipeline of one folder, or None where its defs.yaml holds other components only.

    It may name one of the profile's connections, and its tables have the profile's defaults.
    """
    by_kind: dict[str, tuple[tuple[Any, ...], tuple[int, ...]]] = {}
    documents = read_documents(folder / FILE)
    if not documents:
        raise SpecError(f"{folder / FILE}:1: it is empty: write `type: assets.topic_tables.TopicTables`")
    for document in documents:
        if kind := component_of(document, _SPECS):
            if kind in by_kind:
                raise SpecError(f"{document.file}:{document.line()}: a second {kind} in one file")
            by_kind[kind] = _tables(document, _SPECS[kind], settings)
    if not by_kind:
        return None
    tables, lines = by_kind.get("TopicTables", ((), ()))
    derived, derived_lines = by_kind.get("DerivedTables", ((), ()))
    return Pipeline(legal(folder.name), folder, tables, lines, derived, derived_lines)


def beside(spec: T, folder: Path, connection: str) -> T:
    """The same spec; the files that it names are those of the folder, its connection the pipeline's."""
    files: dict[str, Any] = {name: folder / value for name, value in spec if isinstance(value, Path)}
    files["views"] = {name: folder / file for name, file in spec.views.items()}
    return spec.model_copy(update={**files, "connection": spec.connection or connection})


def _files(spec: AnyTable) -> Iterator[tuple[Place, Path]]:
    """The files that a spec names, each with its place in it."""
    for name, value in spec:
        if isinstance(value, Path):
            yield (name,), value
    yield from ((("views", name), file) for name, file in spec.views.items())


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # no file has a name of that length
        return False


def _tables(
    document: Document, spec: type[AnyTable], settings: Settings
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The document's tables, and the line of each."""
    common = profile_defaults(settings.table_defaults, spec)
    read = attributes_of(_complete(document, common), _Attributes[spec])  # type: ignore[valid-type]
    connections = settings.connections
    tables = tuple(beside(spec, document.file.parent, read.connection) for spec in read.tables)
    places: list[Place] = [("attributes", "tables", i) for i in range(len(tables))]
    named = [("attributes",), *places]
    missing = [
        ((*place, "connection"), _unknown(part.connection, connections))
        for place, part in zip(named, (read, *read.tables), strict=True)
        if part.connection and part.connection not in connections
    ]
    missing += [
        ((*place, *within), f"there is no file {file}")
        for place, spec in zip(places, tables, strict=True)
        for within, file in _files(spec)
        if not _is_there(file)
    ]
    if missing:
        raise refused(document, missing)
    return tables, tuple(map(document.line, places))


def _complete(document: Document, common: Mapping[str, Any]) -> Document:
    """The document with the defaults in its tables; what it got wrong is left for its model to refuse."""
    match document.value:
        case {"attributes": {"tables": tables} as attributes, **rest}:
            full = {**attributes, "tables": with_defaults(tables, attributes.get("defaults"), common)}
            return replace(document, value={**rest, "attributes": full}, shared=_SHARED)
    return document


def _unknown(connection: str, connections: Collection[str]) -> str:
    known = ", ".join(connections) or "none"
    near = get_close_matches(connection, connections, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {known}"
    return f"the profile has no connection {connection!r}; {hint}"
