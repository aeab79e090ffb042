"""A user's pipeline outside the checkout, and runs of the asset graph that comes from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from frazil.connections import Connections
from frazil.definitions import defs
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.readers.targets import glue_path, snowflake_path
from kit.records.topics import TRADE, Topic
from kit.runs.shell import TABLES, TOPICS
from resources.connections import FrazilConnections

NAMESPACE = "graph_tests"


@dataclass(frozen=True, slots=True)
class Graph:
    """The asset graph of one pipeline folder, and the topics that it speaks of."""

    definitions: dg.Definitions
    topics: tuple[Topic, ...]
    derived: tuple[DerivedSpec, ...] = ()

    @property
    def things(self) -> Things:
        """Of the first topic."""
        return self.topics[0].things

    @property
    def made(self) -> Things:
        """Of the first table that is made of others."""
        return things(self.derived[0], self.topics[0].connections.settings)

    def run(
        self,
        instance: dg.DagsterInstance,
        paths: Iterable[tuple[str, ...]],
        config: Mapping[str, Any] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materializes assets and runs their checks, in this process."""
        return self.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            asset_selection=list(map(dg.AssetKey, paths)),
            run_config=dict(config or {}),
            raise_on_error=False,
        )

    def carry_out(self, instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
        """The run that a sensor asks for, as Dagster's daemon starts it, in this process."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        keys = [*(request.asset_selection or ()), *(request.asset_check_keys or ())]
        checks = [key for key in keys if isinstance(key, dg.AssetCheckKey)]
        chosen = job.get_subset(
            asset_selection=set(request.asset_selection or ()), asset_check_selection=set(checks)
        )
        return chosen.execute_in_process(instance=instance, tags=dict(request.tags), raise_on_error=False)

    def tick(self, sensor: str, instance: dg.DagsterInstance, cursor: str | None = None) -> Any:
        """What a sensor decides: its run requests, its words, its cursor."""
        frazil = (self.definitions.resources or {})["frazil"]
        assert isinstance(frazil, FrazilConnections)
        with dg.build_sensor_context(
            instance, cursor, definitions=self.definitions, resources={"frazil": frazil}
        ) as context:
            return self.definitions.resolve_sensor_def(sensor).evaluate_tick(context)


def all_paths(names: Things) -> list[tuple[str, ...]]:
    return [names.kafka_path, names.iceberg_path, glue_path(names), snowflake_path(names)]


def write_graph(
    folder: Path,
    connections: Connections,
    *tables: dict[str, Any],
    derived: Sequence[dict[str, Any]] = (),
) -> Graph:
    """Writes a pipeline and loads it, as Dagster does.

    Args:
        folder: Where the pipeline's folder is made.
        connections: The environment.
        tables: A table each, made of a topic.
        derived: A table each, made of others; `sql` is the query itself.
    """
    pipeline = folder / f"pipeline_{tables[0]['topic']}"
    pipeline.mkdir()
    (pipeline / "trade.avsc").write_text(json.dumps(TRADE))
    written = [{"namespace": NAMESPACE, "value_schema": "trade.avsc", **t} for t in tables]
    made = [{"namespace": NAMESPACE, **t, "sql": f"{t['table']}.sql"} for t in derived]
    for table in derived:
        (pipeline / f"{table['table']}.sql").write_text(table["sql"])
    documents = [{"type": TOPICS, "attributes": {"tables": written}}]
    documents += [{"type": TABLES, "attributes": {"tables": made}}] if made else []
    (pipeline / "defs.yaml").write_text(yaml.safe_dump_all(documents))
    os.environ["FRAZIL_PIPELINES"] = str(folder)  # the caller's monkeypatch takes it back
    specs = [TableSpec.model_validate(t) for t in written]
    queries = [DerivedSpec.model_validate({**t, "sql": pipeline / t["sql"]}) for t in made]
    return Graph(defs(), tuple(Topic(s.topic, connections, s) for s in specs), tuple(queries))


def materialized(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """Metadata values of each asset that was materialized, by key."""
    return {
        e.asset_key.to_user_string(): {k: v.value for k, v in e.materialization.metadata.items()}
        for e in result.get_asset_materialization_events()
        if e.asset_key
    }


def verdicts(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """Each check that was run, and whether it passed."""
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def evaluation_of(instance: dg.DagsterInstance, check: dg.AssetCheckKey) -> dg.AssetCheckEvaluation:
    """The newest one that an instance has of a check."""
    (record,) = instance.event_log_storage.get_asset_check_execution_history(check, limit=1)
    event = record.event.dagster_event if record.event else None
    assert event is not None
    return event.asset_check_evaluation_data


def failures(result: dg.ExecuteInProcessResult) -> str:
    """What the failed steps say."""
    failed = [e.step_failure_data for e in result.all_events if e.is_step_failure]
    messages = [f.user_failure_data.description if f.user_failure_data else f.error for f in failed]
    return "\n".join(map(str, messages))


MakeGraph = Callable[..., Graph]
