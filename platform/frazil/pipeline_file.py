"""Reads one pipeline: a folder's defs.yaml, every mistake in it named with its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from frazil.errors import SpecError
from frazil.naming import legal
from frazil.places import Document, read_documents
from frazil.spec import Owners, TableSpec

__all__ = ["COMPONENT", "FILE", "Pipeline", "load_pipeline"]

COMPONENT = "assets.topic_tables.TopicTables"
"""The `type` that makes a defs.yaml a pipeline of topics."""

FILE = "defs.yaml"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One folder of topics.

    Args:
        name: The folder's name.
        folder: Where it is.
        tables: What the user wrote about each topic.
        lines: The line of each table in defs.yaml.
        group: Group of its assets.
        owners: Owners of tables that name none.
    """

    name: str
    folder: Path
    tables: tuple[TableSpec, ...]
    lines: tuple[int, ...]
    group: str
    owners: tuple[str, ...]

    @property
    def file(self) -> Path:
        """What the user wrote."""
        return self.folder / FILE


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Attributes(_Strict):
    tables: tuple[TableSpec, ...] = Field(min_length=1)
    group: str | None = Field(None, pattern=r"^[A-Za-z0-9_]+$")
    owners: Owners = ()


class _File(_Strict):
    """The document; what is `Any` here is Dagster's own and checked there."""

    type: Literal["assets.topic_tables.TopicTables"]
    attributes: _Attributes
    requirements: Any = None
    post_processing: Any = None
    template_vars_module: Any = None


def load_pipeline(folder: Path) -> Pipeline | None:
    """The pipeline of one folder, or None where its defs.yaml holds other components only.

    Raises:
        SpecError: The file can't be understood; the text names line, field and mistake.
    """
    ours = [d for d in read_documents(folder / FILE) if _is_ours(d)]
    if not ours:
        return None
    if len(ours) > 1:
        raise SpecError(f"{ours[1].file}:{ours[1].line()}: a second pipeline in one file")
    document = ours[0]
    try:
        attributes = _File.model_validate(document.value).attributes
    except ValidationError as e:
        raise _refused(document, [_mistake(problem) for problem in _causes(e)]) from None
    name = legal(folder.name)
    return Pipeline(
        name=name,
        folder=folder,
        tables=_beside(document, attributes.tables),
        lines=tuple(document.line(("attributes", "tables", i)) for i, _ in enumerate(attributes.tables)),
        group=attributes.group or name,
        owners=attributes.owners or (f"team:{name}",),
    )


def _is_ours(document: Document) -> bool:
    kind = document.value.get("type") if isinstance(document.value, dict) else None
    place = f"{document.file}:{document.line(['type'])}"
    if not isinstance(kind, str):
        raise SpecError(f"{place}: type: missing; write `type: {COMPONENT}`")
    if kind != COMPONENT and get_close_matches(kind, [COMPONENT], cutoff=0.8):
        raise SpecError(f"{place}: type: {kind!r} is unknown; did you mean {COMPONENT}?")
    return kind == COMPONENT


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


def _mistake(problem: ErrorDetails) -> Mistake:
    path = problem["loc"]
    if problem["type"] in ("model_type", "dict_type"):
        return path, "names and values are expected here"
    if problem["type"] != "extra_forbidden":
        text = problem["msg"].removeprefix("Value error, ")
        seen = problem["input"]
        return path, text if isinstance(seen, dict | list) else f"{text} (found {seen!r})"
    known = _names_at(path[:-1])
    near = get_close_matches(str(path[-1]), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return path, f"unknown name; {hint}"


def _names_at(path: tuple[str | int, ...]) -> list[str]:
    model: type[BaseModel] = _File
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


def _beside(document: Document, tables: tuple[TableSpec, ...]) -> tuple[TableSpec, ...]:
    """The tables, their schema files found beside the pipeline's file."""
    return tuple(
        spec.model_copy(update=dict(_schema_files(document, i, spec))) for i, spec in enumerate(tables)
    )


def _schema_files(document: Document, table: int, spec: TableSpec) -> Iterator[tuple[str, Path]]:
    for name, file in (("key_schema", spec.key_schema), ("value_schema", spec.value_schema)):
        if file is None:
            continue
        path = document.file.parent / file
        if not path.is_file():
            raise _refused(document, [(("attributes", "tables", table, name), f"there is no file {path}")])
        yield name, path
