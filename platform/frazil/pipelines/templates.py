"""`{{ env('NAME') }}` in a pipeline, filled in alike for Dagster and for the command line."""

from __future__ import annotations

import os
from typing import Any

from frazil.pipelines.places import Mistake, Place

__all__ = ["TemplateMistake", "fill_in"]


class TemplateMistake(Exception):
    """A template that can't be filled in."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake[1])
        self.mistake = mistake


def fill_in(value: Any, place: Place = ()) -> Any:
    """The same value; every text with `{{ }}` in it is what the environment makes of it.

    Args:
        value: As YAML gives it.
        place: Where in the document it stands.

    Raises:
        TemplateMistake: The environment lacks a variable, or the template asks for anything else.
    """
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

    try:
        return SandboxedEnvironment(undefined=StrictUndefined).from_string(template).render(env=Env())
    except TemplateError as e:
        hint = "write {{ env('NAME') }} or {{ env('NAME', 'default') }}"
        raise TemplateMistake((place, f"{e.message}; {hint} (found {template!r})")) from None
