"""A pipeline's file says what it means, or is refused with its lines; it runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from frazil.derive.queries.check import check_queries
from frazil.pipelines.folder import load_pipelines
from frazil.publishing.targets import TARGETS
from frazil.settings.profile import Settings
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator
from kit.graph.yaml_traps import TRAPS

_TOPIC: dict[str, Any] = {
    "topic": "orders",
    "namespace": "n",
    "table": "orders",
    "partition_by": ["day($$timestamp)", "bucket(16, id)"],
    "sort_by": ["id desc nulls last"],
    "freshness": "1m",
    "publish": ["glue", "snowflake"],
    "write": {"target_file_size": "64MiB", "compression_level": 3},
    "upkeep": {"compact_after": "15m"},
    "value_schema": "orders.avsc",
    "partitions": 3,
    "topic_config": {"retention.ms": "1"},
    "tags": {"a": "b"},
    "owners": ["team:a"],
    "land_when": {"records": 10, "bytes": "1MB", "age": "30s"},
    "on_bad_record": "skip",
    "migrations": [
        {"id": "a", "rename": {"from": "a", "to": "b"}},
        {"id": "b", "retype": {"column": "c", "to": "long"}},
    ],
    "record_type": "R",
    "other_types": ["S"],
    "subject_names": "record",
    "description": "{{ env('NAMED', 'x') }}",
}
_NEEDED = ("topic", "table", "namespace", "record_type", "subject_names", "value_schema")
_DERIVED: dict[str, Any] = {
    "table": "totals",
    "kind": "windows",
    "sql": "totals.sql",
    "parameters": {"most": 3, "word": "x"},
    "window": {"start": "at", "length": "1m", "late_rows": "drop"},
    "cumulative_by": ["id"],
    "namespace": "n",
}
_SQL = (
    "SELECT window.start AS at, id, count(*) AS n FROM n.orders GROUP BY window($$timestamp, '1 minute'), id"
)
_ORDERS = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'


def document(mutator: Mutator) -> str:
    """A broken pipeline."""
    dice = mutator.random
    topic = {k: _TOPIC[k] for k in (*_NEEDED, *dice.sample(sorted(_TOPIC), 6))}
    derived = {k: _DERIVED[k] for k in _DERIVED if dice.random() < 0.9}
    whole = [
        {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": [topic], "owners": ["team:a"]}},
        {"type": "assets.derived_tables.DerivedTables", "attributes": {"tables": [derived]}},
    ]
    broken = [mutator.tree(part) if dice.random() < 0.6 else part for part in whole]
    text = yaml.dump_all(broken, allow_unicode=dice.random() < 0.5, default_flow_style=dice.random() < 0.3)
    if dice.random() < 0.2:
        lines = text.split("\n")
        at = dice.randrange(len(lines))
        indent = " " * (len(lines[at]) - len(lines[at].lstrip(" -")))
        trap = "\n".join(indent + line for line in dice.choice(TRAPS).split("\n"))
        text = "\n".join([*lines[:at], trap, *lines[at:]])
    return mutator.text(text) if dice.random() < 0.3 else text


def test_any_pipeline_is_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "totals.sql").write_text(_SQL)
    (folder / "orders.avsc").write_text(_ORDERS)
    settings = Settings()

    def written(text: str) -> None:
        (folder / "defs.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        pipelines = load_pipelines([tmp_path], settings)
        check_queries(pipelines, settings)
        for pipeline in pipelines.all():
            for spec, _ in pipeline.every_table:
                assert [target(spec, settings).path for target in TARGETS.values()]
                assert (spec.sort_terms, spec.transforms) is not None

    assert fuzz("pipeline", document, written, writes=(tmp_path,))
