"""Stand-ins for what lies outside the engine: Spark's jobs, Kafka's answers, Parquet's rows, and the clock.

All else of a landing, a redrive, a replay, a compaction, an expiry is the engine's own.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import stamina
from pyiceberg.table import Table
from pyiceberg.utils.concurrent import ExecutorFactory
from pyspark.errors import PySparkException
from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks

import frazil.landing.cut.create
import frazil.landing.land
import frazil.landing.plan
import frazil.landing.position.history
import frazil.landing.repairs.dead_letters
import frazil.landing.repairs.redrive
import frazil.landing.repairs.rollback
import frazil.landing.repairs.selection
import frazil.landing.schema.guarded
import frazil.landing.source
import frazil.tables.keys
import frazil.upkeep.compaction.arrow
import frazil.upkeep.compaction.rewrite
import frazil.upkeep.forgetting.forget
import frazil.upkeep.orphans
import frazil.upkeep.storage
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.row_key import NO_KEY, RowKey
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.repairs.bad_records import BadRecord
from frazil.landing.repairs.dead_letters import DeadLetter, of_log
from frazil.landing.write import Written
from frazil.spec.names import TableName
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.commits.works import started_at
from frazil.tables.spark.faults import spark_job
from kit.model.parts.spark import found_at, written
from kit.model.parts.topic import Record
from kit.model.works.derivations import Derivations
from kit.model.works.haste import make_haste
from kit.model.works.replays import Replays
from kit.model.works.rewrites import LANE_LIVES, Rewrites

if TYPE_CHECKING:
    from kit.model.world import World

__all__ = ["Edges", "edges"]

COLUMNS = RecordColumns(Struct(()), Struct((Field("quantity", Primitive("long")),)))
COLUMNS_OF_KEY = RecordColumns(Struct((Field("key", Primitive("long")),)), COLUMNS.value)
KEY = RowKey({"key": "key"})


class Here(Executor):
    """Does what it is given at once, in the thread that asks: an actor has one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `Executor.submit`."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """See `Executor.map`."""
        return iter([fn(*each) for each in zip(*iterables, strict=True)])


class Edges:
    """What the engine finds in place of the outside; `world` is the one of the present round."""

    world: World | None = None
    begun: dict[bool, World]  # what all rounds begin with, of tables with a row per key and of others

    def __init__(self) -> None:
        self.begun, self.rewrites = {}, Rewrites(self)

    def topic_fact(self, _admin: Any, _topic: str) -> Any:
        self.world.stage.step()
        return self.world.topic.facts

    def topic_facts(self, _admin: Any, topics: Any) -> Any:
        self.world.stage.step()
        return dict.fromkeys(topics, self.world.topic.facts)

    def known_facts(self, admin: Any, topics: Any) -> Any:
        """No topic is refused."""
        return self.topic_facts(admin, topics), {}

    def tally_records(self, _settings: Any, _topic: str, spans: Any) -> Any:
        self.world.stage.step()
        return self.world.topic.tally(spans)

    def decoder_for(self, *_: Any) -> Any:
        keyed = self.world.keyed
        columns, key = (COLUMNS_OF_KEY, KEY) if keyed else (COLUMNS, NO_KEY)
        value = SimpleNamespace(writers=(1,))
        return SimpleNamespace(columns=columns, row_key=key, value=value, checks=None, unasked=())

    def reading(self, _spark: Any, _settings: Any, _topic: str, spans: Any, *_: Any) -> Any:
        """Spark reads when its job runs: by name, and whatever has the name then."""

        def read() -> list[Record]:
            self.world.stage.step()
            try:
                return self._spoiled(self.world.topic.read(spans))
            except ValueError as e:
                raise PySparkException(f"OffsetOutOfRange {e}") from e

        read.sparkSession = None  # type: ignore[attr-defined]
        return SimpleNamespace(frame=read, spark=None)

    def frame(self, _spark: Any, letters: Sequence[DeadLetter]) -> Any:
        """Dead letters that decode by now."""
        records = [Record(letter.topic_id or "", *letter.key) for letter in letters]
        return lambda: records

    def write_rows(
        self, records: Any, _decoder: Any, _spec: Any, table: Table, plan: Plan, landing: str
    ) -> Written:
        with spark_job(landing_job(plan, landing)):
            read_records = records()
        good = self.world.cut([[*r.at] for r in read_records if not r.bad])
        files = self.rewrites.insert_rows(good, table) if good else ()
        return written(landing, read_records, StagedFiles(files, until=started_at(landing) + LANE_LIVES))

    def lane_of(self, *_: Any) -> Any:
        """Of a table with a row per key its way is another one."""
        return SimpleNamespace(write=self._lane, written=self.rewrites.written_by_tasks)

    def _lane(
        self, reading: Any, _spec: Any, table: Table, plan: Plan, landing: str, _run_part: Any
    ) -> Written:
        with spark_job(landing_job(plan, landing)):
            read_records = reading.frame()
        good = [[*r.at] for r in read_records if not r.bad]
        files = (self.world.write_rows(table, good),) if good else ()
        self.world.stage.step()
        return written(landing, read_records, StagedFiles(files, until=started_at(landing) + LANE_LIVES))

    def _spoiled(self, records: list[Record]) -> list[Record]:
        """What a reader may do wrong without saying so: it loses a record, or reads one twice."""
        how = self.world.stage.dice.choose(3, self.world.spoils) if self.world.stage.now else 0
        return {0: records, 1: records[:-1], 2: [*records, *records[-1:]]}[how]

    def find_bad(self, records: Any, _decoder: Any, _plan: Any, written: Written) -> list[BadRecord]:
        bad = {key: Record("", *key, bad=True) for key in written.bad_at}
        return [BadRecord(*key, "malformed", "it is", _raw(r)) for key, r in sorted(bad.items())]

    def letter_files(self, table: Table, rows: list[dict[str, Any]]) -> Any:
        keys = [[row["topic_id"], row["partition"], row["offset"]] for row in rows]
        return (self.world.store.write_rows(table, keys),)

    def letter_keys(self, kept: Table, _where: Any) -> Any:
        rows = self.world.store.rows(kept, kept.metadata.current_snapshot_id)
        ever, here = self.world.topic.ever, self.world.topic.log
        return (((p, at), int(ever[log, p, at].time * 1e6)) for log, p, at in rows if log == here)

    def read_letters(self, kept: Table, _where: Any, keys: Any) -> list[DeadLetter]:
        rows = self.world.store.rows(kept, kept.metadata.current_snapshot_id)
        raw = (None, None, None, None, "malformed", "it is")
        chosen = sorted({(p, at, log) for log, p, at in rows if (p, at) in keys})
        ever = self.world.topic.ever
        return [DeadLetter("t", p, at, _time(ever[log, p, at]), *raw, topic_id=log) for p, at, log in chosen]

    def offsets_in(self, table: Table, partition: int, offsets: Any, _names: Any, of: Any) -> list[int]:
        rows = self.world.store.rows(table, table.metadata.current_snapshot_id)
        # `of_log` names the log of dead letters, which need not be the topic's present one.
        named = next((log for log in ("log1", "log2", "log3") if of == of_log(log)), self.world.topic.log)
        return [at for log, p, at in rows if log == named and p == partition and at in offsets]

    def list_files(self, table: Table, folders: Any = ("data", "metadata")) -> Any:
        files = self.world.store.listed(table.location())
        return (f for f in files if f.path.removeprefix(f"{table.location()}/").startswith(tuple(folders)))

    def rewrite(self, spark: Any, table: Table, head: Any, plan: Any, _order: Any) -> tuple[Any, ...]:
        """What tasks write of the rows that Spark shuffles."""
        rows = self.rows_of_files(spark, table, [head.entries[file.path] for file in plan.files])
        file = self.world.write_rows(table, self.world.cut(list(rows)))
        self.world.stage.step()
        return (file,)

    def rows_of_files(self, *args: Any, **_: Any) -> Any:
        """The rows of some files of a head, for a compaction."""
        job = frazil.upkeep.compaction.rewrite.compaction_job(TableName(*args[1].name()))
        with spark_job(job):
            return self.rewrites.stored_rows(*args[1:3])

    def by_columns(
        self, _connections: Any, table: Table, _occupied: Any, plan: Any, _order: Any, _origins: Any
    ) -> dict[str, Any]:
        """Tasks that write files anew, all of a round as one."""
        paths = {file.path for file in plan.files}
        rows = [row for _, row in found_at(self.world, table, table.metadata.current_snapshot_id, paths)]
        file = self.world.write_rows(table, self.world.cut(rows))
        self.world.stage.step()
        return {"rows": pa.array([len(rows)]), "files": (file,)}

    def time(self) -> float:
        return self.world.store.now if self.world else 0.0

    def sleep(self, seconds: float) -> None:
        self.world.store.now += seconds
        self.world.stage.step(waits=True)


def _time(record: Record) -> datetime:
    return datetime.fromtimestamp(record.time, UTC)


def _raw(record: Record) -> dict[str, Any]:
    names = ("timestamp", "headers", "raw_key", "raw_value", "timestamp_type", "leader_epoch")
    return {**dict.fromkeys(names), "partition": record.partition, "offset": record.offset}


@contextmanager
def edges() -> Iterator[Edges]:
    """The engine among stand-ins."""
    made, here = Edges(), Here()
    landing, letters = frazil.landing.land, frazil.landing.repairs.dead_letters
    redrive, chosen = frazil.landing.repairs.redrive, frazil.landing.repairs.selection
    rollback, source = frazil.landing.repairs.rollback, frazil.landing.source
    rewrite, storage = frazil.upkeep.compaction.rewrite, frazil.upkeep.storage
    columns, guarded = frazil.upkeep.compaction.arrow, frazil.landing.schema.guarded
    with pytest.MonkeyPatch.context() as patch:
        for module, name, put in [
            (landing, "topic_fact", made.topic_fact),
            (frazil.landing.plan, "topic_facts", made.topic_facts),
            (guarded, "landing_decoder", made.decoder_for), (source, "leader_epochs", lambda *_: {}),
            (source, "Reading", made.reading),
            (landing, "lane_of", made.lane_of), (landing, "find_bad", made.find_bad),
            (frazil.landing.audit, "tally_records", made.tally_records),
            (letters, "_data_files", made.letter_files),
            (frazil.tables.keys, "_offsets_in", made.offsets_in),
            (redrive, "write_rows", made.write_rows), (redrive, "_frame", made.frame),
            (rollback, "topic_facts", made.topic_facts),
            (frazil.landing.cut.create, "topic_facts", made.topic_facts),
            (chosen, "_keys", made.letter_keys), (chosen, "read_letters", made.read_letters),
            (rewrite, "_written", made.rewrite), (rewrite, "live_frame", made.rows_of_files),
            (columns, "_shuffles", lambda *_: not made.world.lane), (columns, "_run", made.by_columns),
            (storage, "list_files", made.list_files),
            (frazil.upkeep.orphans, "list_files", made.list_files),
            (storage, "ThreadPoolExecutor", Here), (ExecutorFactory, "_instance", here),
            (ExecutorFactory, "_instance_pid", os.getpid()),  # else PyIceberg makes threads of its own
            *made.rewrites.each(),
            *Replays(made).each(),
            *Derivations(made).each(),
            (frazil.upkeep.forgetting.forget, "unnamed_with", lambda *_: ()),
            (time, "time", made.time), (time, "monotonic", made.time), (time, "sleep", made.sleep),
        ]:  # fmt: skip
            patch.setattr(module, name, put)
        make_haste(patch)
        thresholds = gc.get_threshold()
        gc.set_threshold(200_000, *thresholds[1:])  # a tenth of a round's CPU was looking for garbage
        hooks = get_on_retry_hooks()
        stamina.set_testing(True, attempts=12, cap=True)
        set_on_retry_hooks(())
        try:
            yield made
        finally:
            stamina.set_testing(False)
            gc.set_threshold(*thresholds)
            set_on_retry_hooks(hooks)
