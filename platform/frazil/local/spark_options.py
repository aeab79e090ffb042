"""What the Spark servers are told: memory, collectors, pools, logging."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from frazil.local.ports import LOOPBACK
from frazil.tables.spark import UPKEEP_POOL

__all__ = ["Options", "cores"]

# A damaged Avro record of 8 bytes can claim any length, and end the JVM that believes it. Kafka's records
# are of 1 MB at most by default; two damaged strings of 100 MB each were one too many for this heap.
_AVRO = (
    "-Dorg.apache.avro.limits.collectionItems.maxLength=1000000 "
    "-Dorg.apache.avro.limits.string.maxLength=16777216 "
    "-Dorg.apache.avro.limits.bytes.maxLength=16777216"
)

# Every read has consumers of its own: kept for the default five minutes, with what they fetched but did
# not use (20,000 records each), those of 40 landings fill the heap.
_CONSUMERS = {
    "spark.kafka.consumer.cache.timeout": "1s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
}

_LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

# Landings first: their pool asks for every core, upkeep's for none, and gets what is left over. In the
# order of arrival a small landing waits for all tasks of a compaction.
_POOLS = """<?xml version="1.0"?>
<allocations>
  <pool name="default">
    <schedulingMode>FIFO</schedulingMode><weight>4</weight><minShare>{cores}</minShare>
  </pool>
  <pool name="{upkeep}">
    <schedulingMode>FIFO</schedulingMode><weight>1</weight><minShare>0</minShare>
  </pool>
</allocations>
"""

# The serial collector stops every core for one: 4 of the 14 s in which two cores land a hot partition.
# Java compiles no method beyond 8,000 bytes of bytecode unless told to; Spark writes such methods for the
# checks of a decoder, and they would be interpreted: JSON cost 3.5 times as much as a bare job, not 1.4.
_JAVA = f"-XX:+UseParallelGC -XX:-DontCompileHugeMethods -XX:-UsePerfData -Duser.timezone=UTC {_AVRO}"


def cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Options:
    """How one server is started.

    Args:
        data: The folder of its data; the files are written there.
        scratch: For temporary files.
        port: Where it listens.
        heap: Of its JVM, as Java writes it.
        jars: What goes on its class path.
    """

    data: Path
    scratch: Path
    port: int
    heap: str
    jars: Sequence[Path]

    def write(self) -> Path:
        """Writes the files; returns the one that names the others."""
        (self.data / "log4j2.properties").write_text(_LOGGING)
        self._pools.write_text(_POOLS.format(cores=cores(), upkeep=UPKEEP_POOL))
        file = self.data / "spark.properties"
        file.write_text("".join(f"{name} {value}\n" for name, value in self._properties().items()))
        return file

    def _properties(self) -> dict[str, object]:
        return {
            "spark.master": f"local[{cores()}]",
            "spark.app.name": "frazil",
            "spark.jars": ",".join(map(str, self.jars)),
            "spark.driver.memory": self.heap,
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.extraJavaOptions": f'{_JAVA} "-Djava.io.tmpdir={self.scratch}"',
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": self.port,
            **_CONSUMERS,
            "spark.scheduler.mode": "FAIR",
            # No URI: Hadoop takes %20 for three letters of a folder's name.
            "spark.scheduler.allocation.file": f"file://{self._pools}",
            "spark.local.dir": self.data / "local",
            "spark.sql.warehouse.dir": self.data / "warehouse",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
        }

    @property
    def _pools(self) -> Path:
        return self.data / "pools.xml"
