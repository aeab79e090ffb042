"""YAML files whose every value still knows its line; `{{ env('NAME') }}` in them is filled in here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from frazil.errors import MALFORMED, SpecError

if TYPE_CHECKING:
    from jinja2 import nodes

Place = tuple[str | int, ...]
"""Where in a document something stands: `("attributes", "tables", 0, "topic")`."""

Mistake = tuple[Place, str]
"""Where, and what is wrong there."""

_MOST_PARTS = 50_000
"""Most parts of a document, each counted as often as an alias names it: a few lines can make billions."""

_FILTERS = ("default", "int", "lower", "replace", "trim", "upper")

# The C loader is ten times faster; PyYAML is built without it on some machines.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a YAML file: its value, and where each part of it stands.

    Args:
        shared: Where items of a list take what they do not write, by the place of the list.
    """

    file: Path
    value: Any
    node: yaml.Node
    shared: Mapping[Place, Place] = field(default_factory=dict)

    def line(self, path: Sequence[str | int] = ()) -> int:
        """The line of the value at `path`, or of the deepest part of the path that is there."""
        node, line = self.node, self.node.start_mark.line
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            mark, node = child
            line = mark.start_mark.line
        return int(line) + 1

    def origin(self, place: Place) -> Place:
        """Where the value at a place was written: there, or in what the items of its list share."""
        for items, defaults in self.shared.items():
            rest = place[len(items) + 1 :]
            default = (*defaults, *rest)
            if rest and place[: len(items)] == items and not self._has(place) and self._has(default):
                return default
        return place

    def _has(self, path: Sequence[str | int]) -> bool:
        node: yaml.Node | None = self.node
        for step in path:
            child = _child(node, step) if node is not None else None
            node = child[1] if child else None
        return node is not None


def read_documents(file: Path) -> list[Document]:
    """The documents of a YAML file; raises SpecError if it is not YAML, or has one name twice."""
    try:
        return list(_documents(file, file.read_text(encoding="utf-8")))
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        what = " ".join(filter(None, (e.context, e.problem)))
        raise SpecError(f"{file}:{line}: this is no YAML: {what}") from None
    except (OSError, yaml.YAMLError, *MALFORMED) as e:
        raise SpecError(f"{file}: can't be read: {e}") from None


def read_document(file: Path) -> Document:
    """The only document of a YAML file; raises SpecError as `read_documents` does, or if there are others."""
    documents = read_documents(file)
    if len(documents) != 1:
        raise SpecError(f"{file}: one document is expected, and it has {len(documents)}")
    return documents[0]


def _documents(file: Path, text: str) -> Iterator[Document]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            _refuse_repeated(file, node, count())
            yield Document(file, loader.construct_document(node), node)
    finally:
        loader.dispose()


def _refuse_repeated(file: Path, node: yaml.Node, parts: Iterator[int]) -> None:
    """YAML takes the last of two equal names in silence; the first would be lost."""
    if next(parts) > _MOST_PARTS:
        raise SpecError(
            f"{file}:{node.start_mark.line + 1}: aliases make more than {_MOST_PARTS} parts of it"
        )
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(f"{file}:{line}: a name is expected here")
            if key.value in seen and key.value != "<<":
                raise SpecError(f"{file}:{line}: {key.value}: written twice, first in line {seen[key.value]}")
            seen[str(key.value)] = line
            _refuse_repeated(file, value, parts)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated(file, item, parts)


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The node that marks the place, and the node to walk on from."""
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


class TemplateMistake(Exception):
    """A template that can't be filled in."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake[1])
        self.mistake = mistake


def fill_in(value: Any, place: Place = ()) -> Any:
    """A value as YAML gives it, with every `{{ }}` in its texts filled in from the environment."""
    if isinstance(value, dict):
        return {key: fill_in(part, (*place, key)) for key, part in value.items()}
    if isinstance(value, list):
        return [fill_in(part, (*place, i)) for i, part in enumerate(value)]
    return _text(value, place) if isinstance(value, str) and "{{" in value else value


def _text(template: str, place: Place) -> str:
    # Imported here: few pipelines have a template, and every command would wait for it.
    from jinja2 import StrictUndefined, TemplateError, UndefinedError
    from jinja2.sandbox import SandboxedEnvironment

    def env(name: str, default: str | None = None) -> str:
        value = os.environ.get(name, default)
        if value is None:
            raise UndefinedError(f"the environment has no {name}, and no default is written")
        return value

    class Env:
        __call__ = staticmethod(env)

        def __getattr__(self, name: str) -> str:
            if name.islower():  # Jinja looks for marks of its own before it calls anything
                raise AttributeError(name)
            return env(name)

    sandbox = SandboxedEnvironment(undefined=StrictUndefined)
    sandbox.globals = {}
    sandbox.filters = {name: sandbox.filters[name] for name in _FILTERS}
    try:
        _refuse_programs(sandbox.parse(template))
        return sandbox.from_string(template).render(env=Env())
    except (TemplateError, *MALFORMED) as e:
        hint = "write {{ env('NAME') }} or {{ env('NAME', 'default') }}"
        raise TemplateMistake((place, f"{e}; {hint} (found {template!r:.300})")) from None


def _refuse_programs(template: nodes.Template) -> None:
    """Refuses what computes: a few signs of it take hours, or all memory."""
    from jinja2 import nodes

    names = nodes.Output, nodes.TemplateData, nodes.Call, nodes.Getattr, nodes.Getitem, nodes.Name
    for node in template.find_all(nodes.Node):
        called = isinstance(node, nodes.Call) and getattr(node.node, "name", "") != "env"
        if called or not isinstance(node, (*names, nodes.Const, nodes.Filter)):
            raise ValueError("a template names a variable of the environment, and computes nothing")
