"""The attributes of a component in a defs.yaml, as a model: every mistake with line and nearest name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from frazil.errors import SpecError
from frazil.pipelines.places import Document, Mistake, Place, TemplateMistake, fill_in

FILE = "defs.yaml"

_MODULES = {
    "TopicTables": "assets.topic_tables",
    "DerivedTables": "assets.derived_tables",
    "Deployment": "assets.deployments",
}
"""Where Dagster finds our components, by name."""

_TYPES = tuple(f"{module}.{name}" for name, module in _MODULES.items())

_OURS = ("", "assets", "frazil", "platform")
"""Packages in which it finds no other component of these names."""

_NO_OTHERS = frozenset({*_OURS, *_MODULES.values()})
"""Modules that have no other component at all; a further one below `assets` may be a user's."""

M = TypeVar("M", bound=BaseModel)


class _Document(BaseModel, Generic[M]):
    """Fields of type `Any` are Dagster's own, and checked by Dagster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    requirements: Any = None
    post_processing: Any = None
    template_vars_module: Any = None
    attributes: M


def component_of(document: Document, known: Collection[str]) -> str:
    """The component that the document's `type` names, ours or one of a user's module; empty if not known.

    Raises:
        SpecError: It is missing or misspelt, or names what our modules do not have.
    """
    written = document.value.get("type") if isinstance(document.value, dict) else None
    place = f"{document.file}:{document.line(['type'])}"
    if not isinstance(written, str):
        raise SpecError(f"{place}: type: missing; it ends with {' or '.join(known)}")
    module, dot, name = written.rpartition(".")
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    if name not in known and not near:
        if module in _NO_OTHERS and name not in _MODULES:
            raise SpecError(f"{place}: type: {written!r} is unknown; known are {', '.join(_TYPES)}")
        return ""
    meant = name if name in known else near[0]
    if module.partition(".")[0] in _OURS:
        module, dot = _MODULES[meant], "."
    if written != f"{module}{dot}{meant}":
        raise SpecError(f"{place}: type: {written!r} is unknown; did you mean {module}{dot}{meant}?")
    return name


def attributes_of(document: Document, model: type[M]) -> M:
    """The document's attributes; a SpecError that names every mistake in them."""
    try:
        # What is not an attribute is Dagster's own, templates and all.
        value = {k: fill_in(v, (k,)) if k == "attributes" else v for k, v in document.value.items()}
    except TemplateMistake as e:
        raise refused(document, [e.mistake]) from None
    return model_of(replace(document, value=value), _Document[model]).attributes  # type: ignore[valid-type]


def model_of(document: Document, model: type[M]) -> M:
    """The whole document as a model; a SpecError that names every mistake in it."""
    try:
        return model.model_validate(document.value)
    except ValidationError as e:
        raise refused(document, [_mistake(problem, model) for problem in _causes(e)]) from None


def refused(document: Document, mistakes: Sequence[Mistake]) -> SpecError:
    """One error for all mistakes of a document, in the order of its lines."""
    places = ((document.origin(at), text) for at, text in mistakes)
    placed = sorted({(document.line(at), f"{_spoken(at)}: {text}") for at, text in places})
    lines = [f"{document.file}:{line}: {text}" for line, text in placed]
    return SpecError("\n".join(lines), todo="Fix the file; nothing that it names is started.")


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
    if problem["type"] in ("tuple_type", "list_type"):
        seen = problem["input"]
        return path, "a list is expected here" + ("" if isinstance(seen, dict) else f": write [{seen}]")
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


def _spoken(place: Place) -> str:
    """`tables[0].land_when.records`, as people say it."""
    steps = place[1:] if len(place) > 1 and place[0] == "attributes" else place
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).lstrip(".")
