"""A standalone cluster on loopback: a master, workers, and a Connect server upon them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import psutil

from frazil_local.home import Home, secret
from frazil_local.ports import LOOPBACK, is_taken
from frazil_local.process import lives
from frazil_local.server import get
from kit.runs.processes import kill
from kit.runs.waiting import wait_for

_SPARK = Path(str(files("pyspark")))
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_EXECUTOR = "CoarseGrainedExecutorBackend"

_SMALL = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "768m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.master.rest.enabled": "false",
}


class SparkCluster:
    """Its conf is that of the embedded server, but for the master, the ports and the memory."""

    def __init__(self, home: Home, folder: Path) -> None:
        self._folder, self._started = folder, list[psutil.Process]()
        self._port, self._web, self._connect = _free_port(), _free_port(), _free_port()
        self.master, self.remote = f"spark://{LOOPBACK}:{self._port}", f"sc://{LOOPBACK}:{self._connect}"
        self.environment = {
            "JAVA_HOME": str(home.root / "java"),
            "SPARK_HOME": str(_SPARK),
            "SPARK_CONF_DIR": str(folder),
            "SPARK_LOCAL_IP": LOOPBACK,
            "PYSPARK_PYTHON": sys.executable,
        }
        self._token = secret(home, "spark")
        options = _properties(home) | _SMALL
        options |= {"spark.master": self.master, "spark.local.dir": str(folder / "local")}
        options |= {"spark.connect.grpc.binding.port": str(self._connect)}
        lines = "".join(f"{name} {value}\n" for name, value in options.items())
        (folder / "spark-defaults.conf").write_text(lines)

    def start(self, workers: int) -> list[psutil.Process]:
        """Returns the workers' processes when all are there and Connect listens."""
        host = ("--host", LOOPBACK)
        place = ("--port", str(self._port), "--webui-port", str(self._web))
        self._run("spark-class", "org.apache.spark.deploy.master.Master", *host, *place)
        wait_for(self._answers)
        started = [self.start_worker() for _ in range(workers)]
        server = self._run("spark-submit", "--class", _CONNECT, "spark-internal")
        wait_for(lambda: is_taken(self._connect) or not lives(server))
        assert lives(server), self._log(server).read_text()
        return started

    def start_worker(self) -> psutil.Process:
        """One with two cores, of which an application gets one; returns when the master knows it."""
        before = len(self.workers)
        own = ("-c", "2", "-m", "2g", "-d", str(self._folder / "work"), "--webui-port", "0")
        worker = self._run(
            "spark-class", "org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, *own, self.master
        )
        wait_for(lambda: len(self.workers) > before)
        return worker

    def _answers(self) -> bool:
        try:
            return self.workers == []
        except OSError:  # it may listen before it knows its pages
            return False

    @property
    def workers(self) -> list[dict[str, Any]]:
        """Those that live, as the master says."""
        document = json.loads(get(f"http://{LOOPBACK}:{self._web}/json/"))
        return [worker for worker in document["workers"] if worker["state"] == "ALIVE"]

    def executors(self, worker: psutil.Process) -> list[psutil.Process]:
        """The processes in which a worker runs tasks; one that ends right now is none."""
        return [each for each in worker.children(recursive=True) if _EXECUTOR in _command(each)]

    def stop(self) -> None:
        """Ends all of it, whatever still lives."""
        roots = [each for each in self._started if each.is_running()]
        kill([each for root in roots for each in (root, *root.children(recursive=True))])

    def _run(self, program: str, *arguments: str) -> psutil.Process:
        memory = {"SPARK_DAEMON_MEMORY": "256m"} if program == "spark-class" else {}
        environment = {**self.environment, **memory, "SPARK_CONNECT_AUTHENTICATE_TOKEN": self._token}
        with (self._folder / "starting.log").open("wb") as log:
            child = subprocess.Popen(
                [str(_SPARK / "bin" / program), *arguments],
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        child.returncode = 0  # `stop` ends it, and Popen has nothing to warn of
        started = psutil.Process(child.pid)
        self._started.append(started)
        (self._folder / "starting.log").rename(self._log(started))
        return started

    def _log(self, process: psutil.Process) -> Path:
        return self._folder / f"{process.pid}.log"


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _properties(home: Home) -> dict[str, str]:
    text = (home.data("spark") / "spark.properties").read_text()
    return dict(line.split(" ", 1) for line in text.splitlines())


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])
