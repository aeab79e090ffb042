"""Spark: Connect servers, one warm JVM for all landings and one in the background for upkeep."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from frazil.tables.spark.redaction import OF_SERVER
from frazil.tables.spark.session import UPKEEP_POOL
from frazil_local.cloud.parts import aws_identity, has_clouds
from frazil_local.home import Home, s3_credentials, secret, template
from frazil_local.jars import NO_CORE, Jars
from frazil_local.locks import locks_of
from frazil_local.ports import LOOPBACK, Ports
from frazil_local.server import Launch, Server

_SECONDS = 10.0
_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"

# Every read has consumers of its own: kept for the default five minutes, with what they fetched but did
# not use (20,000 records each), those of 40 landings fill the heap. The default capacity, 64, is less than
# eleven topics of six partitions take: landings that follow each other within seconds opened each one anew.
CONSUMERS = {
    "spark.kafka.consumer.cache.capacity": "256",
    "spark.kafka.consumer.cache.timeout": "1s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "5s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
}

_POOLS = "pools.xml"

# The serial collector stops every core for one: 4 of the 14 s in which two cores land a hot partition.
# Java compiles no method beyond 8,000 bytes of bytecode unless told to; Spark writes such methods for tables
# of many fields, and they would be interpreted.
_FLAGS = f"-XX:+UseParallelGC -XX:-DontCompileHugeMethods -XX:-UsePerfData {NO_CORE}"
_JAVA = f"{_FLAGS} -Duser.timezone=UTC"


def cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Spark:
    """What both servers share; catalogs are configured by each client in its own session."""

    home: Home
    ports: Ports
    java: Path
    jars: Jars

    @property
    def of_landings(self) -> Server:
        """The one for landings, checks and derived tables."""
        return self._server("spark", "1536m")

    @property
    def of_upkeep(self) -> Server:
        """One that lets all others have the CPU first.

        A task is not interrupted, and a compaction's is a whole file. In the landings' own server it kept one
        core of two: a landing lost 38 % of its rate; beside this server 16 %.
        """
        return self._server("spark-upkeep", "1g", background=True)

    def _server(self, name: str, heap: str, *, background: bool = False) -> Server:
        port = self.ports[name]

        def launch() -> Launch:
            data = self.home.data(name)
            (data / "log4j2.properties").write_text(template("log4j2.properties"))
            (data / _POOLS).write_text(template(_POOLS).format(cores=cores(), upkeep=UPKEEP_POOL))
            properties = data / "spark.properties"
            config = self._properties(data, port, heap)
            properties.write_text("".join(f"{key} {value}\n" for key, value in config.items()))
            return Launch(_command(properties), self._environment(data))

        def ask() -> None:
            _ask(port, secret(self.home, "spark"))

        return Server(name, (name,), launch, ask, ("storage", "aws"), background=background)

    def _properties(self, data: Path, port: int, heap: str) -> dict[str, object]:
        return {
            "spark.master": f"local[{cores()}]",
            "spark.app.name": "frazil",
            "spark.jars": ",".join(map(str, self.jars.paths("spark"))),
            "spark.driver.memory": heap,
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            # Apart from the rest: Spark hides all options where a path among them says `secret` or `token`.
            "spark.driver.defaultJavaOptions": f'"-Djava.io.tmpdir={self.home.scratch}"{self._trust()}',
            "spark.driver.extraJavaOptions": _JAVA,
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": port,
            **CONSUMERS,
            **OF_SERVER,
            "spark.scheduler.mode": "FAIR",
            # No URI: Hadoop takes %20 for three letters of a folder's name.
            "spark.scheduler.allocation.file": f"file://{data / _POOLS}",
            "spark.local.dir": data / "local",
            "spark.sql.warehouse.dir": data / "warehouse",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
        }

    def _trust(self) -> str:
        """The catalog's authority, for Java's clients of it; Kafka's are told by their options."""
        if (locks := locks_of(self.home)) is None:
            return ""
        return f' "-Djavax.net.ssl.trustStore={locks.trust_store}"'

    @property
    def _identity(self) -> Mapping[str, str]:
        """Who its machines are at AWS: Glue's clients look nowhere else, nor do those that take a role."""
        clouds = has_clouds(self.home)
        return aws_identity(self.ports) if clouds else s3_credentials(self.home).environment

    def _environment(self, data: Path) -> dict[str, str]:
        return {
            "JAVA_HOME": str(self.java),
            "SPARK_HOME": str(_spark_home()),
            "SPARK_CONF_DIR": str(data),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": secret(self.home, "spark"),
            "PYSPARK_PYTHON": sys.executable,  # else workers take the python3 of PATH
            **self._identity,
        }


def _command(properties: Path) -> tuple[str, ...]:
    submit = str(_spark_home() / "bin" / "spark-submit")
    return (submit, "--properties-file", str(properties), "--class", _MAIN, "spark-internal")


def _spark_home() -> Path:
    return Path(str(files("pyspark")))


def _ask(port: int, token: str) -> None:
    """Asks for Spark's version in a session of its own, and closes that session."""
    import grpc
    from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

    session, user = str(uuid.uuid4()), base_pb2.UserContext(user_id="frazil-status")
    asked = base_pb2.AnalyzePlanRequest.SparkVersion()
    version = base_pb2.AnalyzePlanRequest(session_id=session, user_context=user, spark_version=asked)
    release = base_pb2.ReleaseSessionRequest(session_id=session, user_context=user)
    metadata = [("authorization", f"Bearer {token}")]
    options = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(f"{LOOPBACK}:{port}", options) as channel:
        server = base_pb2_grpc.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        try:
            server.AnalyzePlan(version, timeout=_SECONDS, metadata=metadata)
            server.ReleaseSession(release, timeout=_SECONDS, metadata=metadata)
        except grpc.RpcError as e:
            raise ConnectionError(str(e.code())) from None
