"""Repairing dead letters with a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module

from frazil.errors import ConfigureError, UsageError
from frazil.landing.repairs.dead_letters import DeadLetter

Repair = Callable[[DeadLetter], bytes | DeadLetter | None]
"""Gives the value's new bytes, or the whole record anew, or None to leave the dead letter as it is."""


def find_repair(named: str) -> Repair:
    """The function that `MODULE:FUNCTION` names.

    Raises:
        UsageError: There is no such function, or its module does not import.
    """
    module, _, function = named.partition(":")
    try:
        loaded = getattr(import_module(module), function, None) if module and function else None
    except Exception as e:  # the user's module may raise anything
        raise _no_repair(named, f"{type(e).__name__}: {e}") from e
    if not callable(loaded):
        raise _no_repair(named, f"module {module or '(none)'} has no function {function or '(none)'}")
    repair: Repair = loaded
    return repair


def repaired(letters: Iterable[DeadLetter], repair: Repair) -> list[DeadLetter]:
    """What the function makes of each dead letter; those that it leaves are left out.

    Raises:
        ConfigureError: It raises, or gives something else than it should.
    """
    pairs = [(letter, _called(letter, repair)) for letter in letters]
    return [_as_letter(letter, made) for letter, made in pairs if made is not None]


def _called(letter: DeadLetter, repair: Repair) -> bytes | DeadLetter | None:
    try:
        return repair(letter)
    except Exception as e:
        raise _wrong(letter, f"it raises {type(e).__name__}: {e}") from e


def _as_letter(letter: DeadLetter, made: bytes | DeadLetter) -> DeadLetter:
    if isinstance(made, bytes):
        return replace(letter, raw_value=made)
    if not isinstance(made, DeadLetter):
        raise _wrong(letter, f"it gives {type(made).__name__}, not bytes, a DeadLetter or None")
    if (made.topic, made.key) != (letter.topic, letter.key):
        raise _wrong(letter, f"it gives another record, {made.topic} {made.key}")
    return made


def _wrong(letter: DeadLetter, what: str) -> ConfigureError:
    return ConfigureError(
        f"The repair function fails: {what}.",
        where=f"topic {letter.topic}, partition {letter.partition}, offset {letter.offset}",
        meaning="Nothing was redriven.",
        todo="Fix the function, and redrive again.",
    )


def _no_repair(named: str, why: str) -> UsageError:
    return UsageError(
        f"{named} is no repair function.",
        where=why,
        meaning="Nothing was redriven.",
        todo="Write --with MODULE:FUNCTION; the module is looked for in the present folder, too.",
    )
