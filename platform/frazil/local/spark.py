"""Spark: Connect servers, one warm JVM for all landings and one in the background for upkeep."""

from __future__ import annotations

import importlib.util
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from frazil.local.asking import Credentials
from frazil.local.home import Home
from frazil.local.jars import Jars
from frazil.local.ports import LOOPBACK, Ports
from frazil.local.server import Launch, Server
from frazil.local.spark_options import Options

__all__ = ["Spark"]

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Spark:
    """What both servers share; catalogs are configured by each client in its own session.

    Args:
        home: Of the stack.
        ports: Of the stack.
        java: JAVA_HOME.
        jars: What goes on their class path.
        credentials: For their Glue clients, which read them from the environment only.
    """

    home: Home
    ports: Ports
    java: Path
    jars: Jars
    credentials: Credentials

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
            options = Options(data, self.home.scratch, port, heap, self.jars.paths("spark"))
            return Launch(_command(options.write()), self._environment(data))

        needed = ("storage", "aws")
        return Server(name, (name,), launch, lambda: _ask(port), needed, background=background)

    def _environment(self, data: Path) -> dict[str, str]:
        return {
            "JAVA_HOME": str(self.java),
            "SPARK_HOME": str(_spark_home()),
            "SPARK_CONF_DIR": str(data),
            "SPARK_LOCAL_IP": LOOPBACK,
            "PYSPARK_PYTHON": sys.executable,  # else workers take the python3 of PATH
            "AWS_ACCESS_KEY_ID": self.credentials.access_key,
            "AWS_SECRET_ACCESS_KEY": self.credentials.secret_key,
            "AWS_REGION": self.credentials.region,
        }


def _command(properties: Path) -> tuple[str, ...]:
    return (
        str(_spark_home() / "bin" / "spark-submit"),
        "--properties-file",
        str(properties),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    )


def _spark_home() -> Path:
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _ask(port: int) -> None:
    """Asks for Spark's version in a session of its own, and closes that session."""
    import grpc
    from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

    session, user = str(uuid.uuid4()), base_pb2.UserContext(user_id="frazil-status")
    version = base_pb2.AnalyzePlanRequest(
        session_id=session,
        user_context=user,
        spark_version=base_pb2.AnalyzePlanRequest.SparkVersion(),
    )
    release = base_pb2.ReleaseSessionRequest(session_id=session, user_context=user)
    options = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(f"{LOOPBACK}:{port}", options) as channel:
        server = base_pb2_grpc.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        try:
            server.AnalyzePlan(version, timeout=_SECONDS)
            server.ReleaseSession(release, timeout=_SECONDS)
        except grpc.RpcError as e:
            raise ConnectionError(str(e.code())) from None
