"""Reads one pipeline: a folder's defs.yaml, every mistake in it named with its line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from frazil.errors import SpecError
from frazil.pipelines.places import Document, Mistake, Place, TemplateMistake, fill_in, read_documents
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import legal
from frazil.spec.table import AnyTable, Owners
from frazil.spec.topic import TableSpec

FILE = "defs.yaml"

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


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Attributes(_Strict, Generic[T]):
    group: str | None = Field(None, pattern=r"^[A-Za-z0-9_]+$")
    connection: str = ""
    owners: Owners = ()
    tables: tuple[T, ...] = Field(min_length=1)


class _Document(_Strict, Generic[T]):
    """Fields of type `Any` are Dagster's own, and checked by Dagster."""

    type: str
    requirements: Any = None
    post_processing: Any = None
    template_vars_module: Any = None
    attributes: _Attributes[T]


_MODELS: Mapping[str, type[_Document[Any]]] = {
    "TopicTables": _Document[TableSpec],
    "DerivedTables": _Document[DerivedSpec],
}
"""By the name of the component, whatever module it is from."""


def load_pipeline(folder: Path, connections: Collection[str] = ()) -> Pipeline | None:
    """The pipeline of one folder, or None where its defs.yaml holds other components only.

    It may name one of the connections.
    """
    found: dict[str, tuple[tuple[Any, ...], tuple[int, ...]]] = {}
    for document in read_documents(folder / FILE):
        if kind := _kind(document):
            if kind in found:
                raise SpecError(f"{document.file}:{document.line()}: a second {kind} in one file")
            found[kind] = _tables(document, _MODELS[kind], connections)
    if not found:
        return None
    tables, lines = found.get("TopicTables", ((), ()))
    derived, derived_lines = found.get("DerivedTables", ((), ()))
    return Pipeline(legal(folder.name), folder, tables, lines, derived, derived_lines)


def beside(spec: T, folder: Path, connection: str) -> T:
    """The same spec; the files that it names are those of the folder, its connection the pipeline's."""
    files = {name: folder / file for name, file in _files(spec)}
    return spec.model_copy(update={**files, "connection": spec.connection or connection})


def _files(spec: AnyTable) -> Iterator[tuple[str, Path]]:
    return ((name, value) for name, value in spec if isinstance(value, Path))


def _tables(
    document: Document, model: type[_Document[Any]], connections: Collection[str]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The document's tables, and the line of each."""
    try:
        # What is not an attribute is Dagster's own, templates and all.
        value = {k: fill_in(v, (k,)) if k == "attributes" else v for k, v in document.value.items()}
        read = model.model_validate(value).attributes
    except TemplateMistake as e:
        raise _refused(document, [e.mistake]) from None
    except ValidationError as e:
        raise _refused(document, [_mistake(problem, model) for problem in _causes(e)]) from None
    tables = tuple(beside(spec, document.file.parent, read.connection) for spec in read.tables)
    places: list[Place] = [("attributes", "tables", i) for i in range(len(tables))]
    named = [("attributes",), *places]
    missing = [
        ((*place, "connection"), _unknown(part.connection, connections))
        for place, part in zip(named, (read, *read.tables), strict=True)
        if part.connection and part.connection not in connections
    ]
    missing += [
        ((*place, name), f"there is no file {file}")
        for place, spec in zip(places, tables, strict=True)
        for name, file in _files(spec)
        if not file.is_file()
    ]
    if missing:
        raise _refused(document, missing)
    return tables, tuple(map(document.line, places))


def _unknown(connection: str, connections: Collection[str]) -> str:
    known = ", ".join(connections) or "none"
    near = get_close_matches(connection, connections, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {known}"
    return f"the profile has no connection {connection!r}; {hint}"


def _kind(document: Document) -> str:
    """The component that the document's `type` names, where it is one of ours; else empty."""
    written = document.value.get("type") if isinstance(document.value, dict) else None
    place = f"{document.file}:{document.line(['type'])}"
    if not isinstance(written, str):
        raise SpecError(f"{place}: type: missing; a pipeline's ends with {' or '.join(_MODELS)}")
    module, dot, name = written.rpartition(".")
    near = get_close_matches(name, _MODELS, n=1, cutoff=0.8)
    if name not in _MODELS and near:
        raise SpecError(f"{place}: type: {written!r} is unknown; did you mean {module}{dot}{near[0]}?")
    return name if name in _MODELS else ""


def _causes(error: ValidationError) -> list[ErrorDetails]:
    """The problems without those that only follow: a list of wrong items is also said to be too short."""
    problems = error.errors()
    return [
        p
        for p in problems
        if p["type"] != "too_short"
        or not any(q["loc"][: len(p["loc"])] == p["loc"] for q in problems if q is not p)
    ]


def _mistake(problem: ErrorDetails, document: type[BaseModel]) -> Mistake:
    path = problem["loc"]
    if problem["type"] in ("model_type", "dict_type"):
        return path, "names and values are expected here"
    if problem["type"] != "extra_forbidden":
        text = problem["msg"].removeprefix("Value error, ")
        seen = problem["input"]
        return path, text if isinstance(seen, dict | list) else f"{text} (found {seen!r})"
    known = _names_at(document, path[:-1])
    near = get_close_matches(str(path[-1]), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return path, f"unknown name; {hint}"


def _names_at(model: type[BaseModel], path: Place) -> list[str]:
    for step in path:
        if isinstance(step, str):
            annotation = model.model_fields[step].annotation
            model = next(
                part
                for part in (annotation, *get_args(annotation))
                if isinstance(part, type) and issubclass(part, BaseModel)
            )
    return [field.alias or name for name, field in model.model_fields.items()]


def _refused(document: Document, mistakes: Sequence[Mistake]) -> SpecError:
    placed = sorted((document.line(at), f"{_spoken(at)}: {text}") for at, text in mistakes)
    lines = [f"{document.file}:{line}: {text}" for line, text in placed]
    return SpecError("\n".join(lines), todo="Mend the file; nothing of this pipeline is started.")


def _spoken(place: Place) -> str:
    """`tables[0].land_when.records`, as people say it."""
    steps = place[1:] if len(place) > 1 and place[0] == "attributes" else place
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).lstrip(".")
