"""Reads one pipeline: a folder's defs.yaml, every mistake in it named with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from frazil.errors import SpecError
from frazil.pipelines.places import Document, read_documents
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import legal
from frazil.spec.table import AnyTable, Owners
from frazil.spec.topic import TableSpec

__all__ = ["COMPONENT", "DERIVED", "FILE", "Pipeline", "load_pipeline"]

COMPONENT = "assets.topic_tables.TopicTables"
"""The `type` of a document that names topics."""

DERIVED = "assets.derived_tables.DerivedTables"
"""The `type` of a document that names tables made of others."""

FILE = "defs.yaml"

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One folder of tables: of topics, and of other tables.

    Args:
        name: The folder's name.
        folder: Where it is.
        tables: What the user wrote about each topic.
        lines: The line of each in defs.yaml.
        derived: What the user wrote about each table made of others.
        derived_lines: The line of each in defs.yaml.
        group: Group of its assets.
        owners: Owners of tables that name none.
    """

    name: str
    folder: Path
    group: str
    owners: tuple[str, ...]
    tables: tuple[TableSpec, ...] = ()
    lines: tuple[int, ...] = ()
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


class _Attributes(_Strict):
    group: str | None = Field(None, pattern=r"^[A-Za-z0-9_]+$")
    owners: Owners = ()


class _Topics(_Attributes):
    tables: tuple[TableSpec, ...] = Field(min_length=1)


class _Derived(_Attributes):
    tables: tuple[DerivedSpec, ...] = Field(min_length=1)


class _Document(_Strict):
    """The document; what is `Any` here is Dagster's own and checked there."""

    type: str
    requirements: Any = None
    post_processing: Any = None
    template_vars_module: Any = None


class _TopicsDocument(_Document):
    attributes: _Topics


class _DerivedDocument(_Document):
    attributes: _Derived


_MODELS: Mapping[str, type[_TopicsDocument] | type[_DerivedDocument]] = {
    COMPONENT: _TopicsDocument,
    DERIVED: _DerivedDocument,
}


def load_pipeline(folder: Path) -> Pipeline | None:
    """The pipeline of one folder, or None where its defs.yaml holds other components only.

    Raises:
        SpecError: The file can't be understood; the text names line, field and mistake.
    """
    ours: dict[str, Document] = {}
    for document in read_documents(folder / FILE):
        if kind := _kind(document):
            if kind in ours:
                raise SpecError(f"{document.file}:{document.line()}: a second {kind} in one file")
            ours[kind] = document
    return _pipeline(legal(folder.name), folder, ours) if ours else None


def _pipeline(name: str, folder: Path, documents: Mapping[str, Document]) -> Pipeline:
    read = {kind: _understood(document, _MODELS[kind]) for kind, document in documents.items()}
    topics, derived = read.get(COMPONENT), read.get(DERIVED)
    groups, owners = (
        [a.group for a in read.values() if a.group],
        [a.owners for a in read.values() if a.owners],
    )
    pipeline = Pipeline(
        name=name,
        folder=folder,
        group=next(iter(groups), name),
        owners=next(iter(owners), (f"team:{name}",)),
    )
    if isinstance(topics, _Topics):
        document = documents[COMPONENT]
        tables = _beside(document, topics.tables, ("key_schema", "value_schema"))
        pipeline = replace(pipeline, tables=tables, lines=_lines(document, len(tables)))
    if isinstance(derived, _Derived):
        document = documents[DERIVED]
        made = _beside(document, derived.tables, ("sql", "python"))
        pipeline = replace(pipeline, derived=made, derived_lines=_lines(document, len(made)))
    return pipeline


def _understood(document: Document, model: type[_TopicsDocument] | type[_DerivedDocument]) -> _Attributes:
    try:
        return model.model_validate(document.value).attributes
    except ValidationError as e:
        raise _refused(document, [_mistake(problem, model) for problem in _causes(e)]) from None


def _lines(document: Document, tables: int) -> tuple[int, ...]:
    return tuple(document.line(("attributes", "tables", i)) for i in range(tables))


def _kind(document: Document) -> str:
    """The document's `type` where it is one of ours; else empty."""
    kind = document.value.get("type") if isinstance(document.value, dict) else None
    place = f"{document.file}:{document.line(['type'])}"
    if not isinstance(kind, str):
        raise SpecError(f"{place}: type: missing; write `type: {COMPONENT}` or `type: {DERIVED}`")
    near = get_close_matches(kind, _MODELS, n=1, cutoff=0.8)
    if kind not in _MODELS and near:
        raise SpecError(f"{place}: type: {kind!r} is unknown; did you mean {near[0]}?")
    return kind if kind in _MODELS else ""


Mistake = tuple[tuple[str | int, ...], str]
"""Where in the document, and what is wrong there."""


def _causes(error: ValidationError) -> list[ErrorDetails]:
    """Without what only follows: a list whose items are all wrong is said to be too short."""
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


def _names_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    for step in path:
        if isinstance(step, str):
            annotation = model.model_fields[step].annotation
            model = next(
                part
                for part in (annotation, *get_args(annotation))
                if isinstance(part, type) and issubclass(part, BaseModel)
            )
    return list(model.model_fields)


def _refused(document: Document, mistakes: Sequence[Mistake]) -> SpecError:
    placed = sorted((document.line(at), f"{_spoken(at)}: {text}") for at, text in mistakes)
    lines = [f"{document.file}:{line}: {text}" for line, text in placed]
    return SpecError("\n".join(lines), todo="Mend the file; nothing was started.")


def _spoken(path: tuple[str | int, ...]) -> str:
    """`tables[0].land_when.records`, as people say it."""
    steps = path[1:] if len(path) > 1 and path[0] == "attributes" else path
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).lstrip(".")


def _beside(document: Document, tables: tuple[T, ...], fields: Sequence[str]) -> tuple[T, ...]:
    """The tables, the files that they name found beside the pipeline's own."""
    return tuple(
        spec.model_copy(update=dict(_files(document, i, spec, fields))) for i, spec in enumerate(tables)
    )


def _files(
    document: Document, table: int, spec: BaseModel, fields: Sequence[str]
) -> Iterator[tuple[str, Path]]:
    for name in fields:
        file = getattr(spec, name)
        if file is None:
            continue
        path = document.file.parent / file
        if not path.is_file():
            raise _refused(document, [(("attributes", "tables", table, name), f"there is no file {path}")])
        yield name, path
