"""What landings cost, as docs/bench.md measured it on two cores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU is that of Spark and of Frazil, in seconds of a core; the other seconds are waited for."""

    job: float = 0.19
    """CPU of a Spark job, whatever is in it."""
    landing: float = 0.11
    """CPU of each landing in a job: its plan, its files, its commit."""
    record: float = 16e-6
    """CPU of a record of 1 KB in Avro."""
    look: float = 0.2e-3
    """CPU of a look at one table."""
    commit: float = 0.1
    """Seconds until a catalog answers that is not busy."""
    request: float = 0.03
    """Seconds until S3 answers. Three requests of a landing follow one another: data, manifests, metadata."""
    stored: float = 0.5
    """Bytes of Parquet for a byte of Kafka."""
    upkeep: float = 13e-9
    """CPU of a byte of Parquet that is compacted, which happens to each once."""
