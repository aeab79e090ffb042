"""How a topic lands all the same whose schema was refused: what is proposed was tried, and helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from frazil.errors import SchemaRefusedError, TooManyFieldsError
from frazil.formats.columns.unmappable import EVERYWHERE, Unmappable
from frazil.quoting import in_yaml

T = TypeVar("T")


def advised(unmappable: Unmappable, make: Callable[[Unmappable], T]) -> T:
    """What is made of schemas under a setting; a refusal says under which it would be taken, if there is one.

    Raises:
        SchemaRefusedError: No column can hold something in them.
    """
    try:
        return make(unmappable)
    except SchemaRefusedError as e:
        refused = e
    lines = [f"`unmappable: {_in_yaml(each)}`" for each in _helping(unmappable, make, refused)]
    if not lines:
        raise refused
    todo = f"{refused.todo} Or land it as JSON text: {', or '.join(lines)}."
    raise SchemaRefusedError(
        refused.what, where=refused.where, meaning=refused.meaning, todo=todo, field=refused.field
    ) from None


def _helping(
    spec: Unmappable, make: Callable[[Unmappable], T], refused: SchemaRefusedError
) -> Iterator[Unmappable]:
    """The least that becomes text, and then whatever has no column; what does not help is left out."""
    whole = replace(spec, texts=frozenset({EVERYWHERE}))
    named = (replace(spec, texts=spec.texts | {path}) for path in _paths(refused, spec.within))

    def helps(tried: Unmappable) -> bool:
        return _helps(tried, make, refused)

    yield from islice(filter(helps, named), 1)
    yield from filter(helps, [whole])


def _paths(refused: SchemaRefusedError, within: tuple[str, ...]) -> list[str]:
    """The field's path, and then those of what it is in, as a spec names them."""
    if isinstance(refused, TooManyFieldsError):
        return []
    field = refused.field
    before = max((each for each in within if field.startswith(each)), key=len, default="")
    parts = field.removeprefix(before).split(".")
    return [path for end in range(len(parts), 0, -1) if (path := ".".join(parts[:end]))]


def _helps(tried: Unmappable, make: Callable[[Unmappable], T], refused: SchemaRefusedError) -> bool:
    """Whether a setting helps: schemas are taken, or refused for something else, which has to be fixed."""
    try:
        make(tried)
    except TooManyFieldsError:
        return False
    except SchemaRefusedError as e:
        return e.where != refused.where
    return True


def _in_yaml(spec: Unmappable) -> str:
    refused = sorted(spec.refused - {EVERYWHERE})  # what is not named is refused anyway
    words = {**dict.fromkeys(sorted(spec.texts), "text"), **dict.fromkeys(refused, "refuse")}
    if words == {EVERYWHERE: "text"}:
        return "text"
    return f"{{{', '.join(f'{in_yaml(path)}: {word}' for path, word in words.items())}}}"
