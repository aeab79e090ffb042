"""What a spec tells people of a table, as a Glue entry has it: its description, owners and tags.

Glue has no tags for tables: those of a table are parameters of its entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from frazil.spec.table import AnyTable
from frazil.tables.catalogs.glue_limits import NAME, cut, fitting

_TAG = "frazil.tag."

LF_TAG = "LF-tag "
"""Before the key of a tag of Lake Formation. What was not asked for is not among the labels that are shown;
an empty value is none."""

_OWN = ("Description", "Owner")

Labels = Mapping[str, str]
"""By `Description`, `Owner`, and the parameters of tags; of Snowflake by each view's comment, and tags."""


def labels_of(spec: AnyTable) -> Labels:
    """Those that the spec has, as far as Glue takes them; what it does not say others may."""
    owner = cut(", ".join(spec.owners), NAME)  # Glue's TableInput: Owner has at most 255 letters
    own = {"Description": fitting({"Description": spec.description})["Description"], "Owner": owner}
    return {name: text for name, text in own.items() if text} | labels_of_tags(spec.tags)


def labels_of_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags by the names that they have among labels."""
    return {f"{_TAG}{name}": value for name, value in tags.items()}


def labels_in(entry: Mapping[str, Any]) -> Labels:
    """Those of an entry of Glue."""
    own = {name: str(entry[name]) for name in _OWN if entry.get(name)}
    return own | {name: str(text) for name, text in _parameters(entry).items() if name.startswith(_TAG)}


def labelled(made: Mapping[str, Any], before: Mapping[str, Any], wanted: Labels) -> dict[str, Any]:
    """An entry with labels; a description or an owner that the spec does not have stays as it was before."""
    own = {name: text for name in _OWN if (text := wanted.get(name) or before.get(name))}
    tags = {name: text for name, text in wanted.items() if name.startswith(_TAG)}
    others = {name: text for name, text in _parameters(made).items() if not name.startswith(_TAG)}
    return {**made, **own, "Parameters": {**others, **tags}}


def label_differences(shown: Labels | None, wanted: Labels) -> tuple[str, ...]:
    """Where labels differ, one sentence each; none where they are not known."""
    if shown is None:
        return ()
    known = {name: text for name, text in wanted.items() if name in shown or not name.startswith(LF_TAG)}
    return tuple(_differences(_present(shown), _present(known)))


def _present(labels: Labels) -> Labels:
    return {name: text for name, text in labels.items() if text or not name.startswith(LF_TAG)}


def _differences(shown: Labels, wanted: Labels) -> Iterator[str]:
    for name, text in wanted.items():
        if shown.get(name) != text:
            yield f"{_word(name)} is {shown.get(name, 'missing')!s:.60} and should be {text:.60}"
    for name in (name for name in shown if name.startswith((_TAG, LF_TAG)) and name not in wanted):
        yield f"{_word(name)} is none of the spec's"


def _word(name: str) -> str:
    if name.startswith(LF_TAG):
        return name
    return f"tag {name.removeprefix(_TAG)}" if name.startswith(_TAG) else f"the {name.lower()}"


def _parameters(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = entry.get("Parameters") or {}
    return parameters
