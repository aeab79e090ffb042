"""Writes what is proposed: a folder for each topic, with defs.yaml and the schema files that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from frazil.discovery.findings import Finding
from frazil.discovery.halves import Proposal
from frazil.errors import UsageError
from frazil.pipelines.attributes import FILE
from frazil.spec.names import legal

_TYPE = "assets.topic_tables.TopicTables"
_WIDE = 10_000
"""Letters of a line: a field stands in one."""


def pipeline_text(proposals: Iterable[Proposal]) -> str:
    """The defs.yaml of some tables; behind each field that is listed stands what it rests on."""
    proposals = list(proposals)
    pipeline = {"type": _TYPE, "attributes": {"tables": [_plain(p.table) for p in proposals]}}
    text = yaml.dump(pipeline, Dumper=_Dumper, sort_keys=False, width=_WIDE)
    reasons = iter([p.reasons[f["name"]] for p in proposals for f in p.table.get("fields", ())])
    lines = (f"{line}  # {next(reasons)}" if _is_field(line) else line for line in text.splitlines())
    return "\n".join([*lines, ""])


class _Line(dict[str, Any]):
    """A part of the YAML that stands in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes `_Line` as one line."""


_Dumper.add_representer(
    _Line, lambda dumper, line: dumper.represent_mapping("tag:yaml.org,2002:map", line, flow_style=True)
)


def _is_field(line: str) -> bool:
    return line.lstrip().startswith("- {name: ")


def write_pipelines(root: Path, findings: Sequence[Finding]) -> list[Path]:
    """Writes a pipeline for each topic that has proposals, and returns the files.

    Raises:
        UsageError: One of the folders is there, or can't be written; of those that are there none is changed.
    """
    wanted = {root / legal(f.topic): f.proposals for f in findings if f.proposals}
    if there := [str(folder) for folder in wanted if folder.exists()]:
        raise UsageError(
            f"{', '.join(there)} is there already.",
            meaning="Nothing was written.",
            todo="Move it away, or name the topics that have none; without --write the text is printed.",
        )
    try:
        return [file for folder, proposals in wanted.items() for file in _write(folder, proposals)]
    except OSError as e:
        raise UsageError(
            f"{e.filename} can't be written: {e.strerror}.", todo="Fix FRAZIL_PIPELINES."
        ) from None


def _write(folder: Path, proposals: Sequence[Proposal]) -> list[Path]:
    texts = {FILE: pipeline_text(proposals)}
    for proposal in proposals:
        texts |= proposal.files
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    """Without what YAML has to write as a reference: two tables may share a list."""
    plain = {name: list(value) if isinstance(value, list) else value for name, value in table.items()}
    return {**plain, "fields": [_Line(each) for each in plain["fields"]]} if "fields" in plain else plain
