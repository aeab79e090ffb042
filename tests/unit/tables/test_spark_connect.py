"""A token and a certificate stand between Spark Connect and whoever asks."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.logger import PySparkLogger
from pyspark.sql.connect import functions
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator as Responses
from pyspark.sql.connect.session import SparkSession

from frazil.errors import ConfigureError, PartDownError, RetryError
from frazil.settings.profile import Settings
from frazil.tables.spark.connect import connect_session
from frazil.tables.spark.session import is_spent, open_spark, shares_workers, spark_errors
from frazil_local.authority import Authority
from kit.runs.waiting import PATIENCE
from kit.wires.connect_server import connect_server

TOKEN = "planted-5f0c9d"


@pytest.fixture(scope="module")
def plain() -> Iterator[int]:
    with connect_server(TOKEN) as port:
        yield port


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("own"), "own")


@pytest.fixture(scope="module")
def encrypted(authority: Authority) -> Iterator[int]:
    with connect_server(TOKEN, authority.identity("spark")) as port:
        yield port


def settings(remote: str, token: str | None = TOKEN, **others: object) -> Settings:
    return Settings.load(spark={"remote": remote, "token": token, **others})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_token_opens_a_session_on_loopback_without_tls(plain: int, host: str) -> None:
    session = open_spark(settings(f"sc://{host}:{plain}"))

    session.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("token", [None, "another"])
def test_without_the_token_nobody_gets_in(plain: int, token: str | None) -> None:
    with pytest.raises(ConfigureError, match="FRAZIL_SPARK__TOKEN") as refusal:
        open_spark(settings(f"sc://127.0.0.1:{plain}", token))

    assert "another" not in str(refusal.value)


def test_tls_is_spoken_with_a_server_that_the_authority_signed(encrypted: int, authority: Authority) -> None:
    remote = f"sc://localhost:{encrypted}/;use_ssl=true"

    session = open_spark(settings(remote, ca=authority.file))

    session.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("token", [None, "another"])
def test_a_wrong_token_is_refused_behind_tls_too(
    encrypted: int, authority: Authority, token: str | None
) -> None:
    with pytest.raises(ConfigureError, match="FRAZIL_SPARK__TOKEN"):
        open_spark(settings(f"sc://localhost:{encrypted}/;use_ssl=true", token, ca=authority.file))


def test_a_server_that_another_authority_signed_gets_no_token(encrypted: int, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other").file

    with pytest.raises(ConfigureError, match="FRAZIL_SPARK__CA"):
        open_spark(settings(f"sc://127.0.0.1:{encrypted}/;use_ssl=true", ca=other))


@pytest.mark.parametrize("name", ["token", "TOKEN", "x-api-key", "password"])
def test_a_secret_in_the_address_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ConfigureError, match=r"spark\.remote: .*FRAZIL_SPARK__TOKEN") as refusal:
        settings(f"sc://spark.example.com/;use_ssl=true;{name}={TOKEN}", None)

    assert TOKEN not in str(refusal.value)


@pytest.mark.parametrize("remote", ["spark.example.com:15002", "https://example.com", "sc://", "local[2", ""])
def test_what_is_no_address_of_a_spark_is_refused_with_those_that_are(remote: str) -> None:
    with pytest.raises(ConfigureError, match=r"spark\.remote: .*sc://HOST:PORT, spark://HOST:PORT, local"):
        settings(remote)


@pytest.mark.parametrize(
    "remote", ["sc://h:1", "spark://h:7077", "local", "local[*]", "local[2]", "yarn", "k8s://h"]
)
def test_each_kind_of_address_is_taken(remote: str) -> None:
    assert settings(remote).spark.remote == remote


def test_the_parameters_of_an_address_are_in_no_error() -> None:
    with pytest.raises(PartDownError) as silence:
        open_spark(settings("sc://127.0.0.1:1/;user_id=planted-user"))

    assert "127.0.0.1:1" in str(silence.value)
    assert "planted-user" not in str(silence.value)


def test_the_token_is_in_no_repr() -> None:
    assert TOKEN not in repr(settings("sc://127.0.0.1:1"))


def test_a_session_is_the_clone_of_one_that_wants_no_workers_of_its_own_and_that_one_is_ended() -> None:
    sessions: dict[str, dict[str, str]] = {}
    with connect_server(TOKEN, sessions=sessions) as port:
        session = connect_session(settings(f"sc://127.0.0.1:{port}"))

        assert shares_workers(session)
    assert list(sessions.values()) == [{"spark.sql.artifact.isolation.enabled": "false"}]


def test_a_session_is_the_default_one_of_pyspark_and_so_of_every_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A class method, called on our own class, set the default there: threads then had no session at all."""
    monkeypatch.setattr(SparkSession, "_default_session", None)
    monkeypatch.setattr(SparkSession, "_active_session", threading.local())
    sessions: list[object] = []
    with connect_server(TOKEN) as port:
        session = connect_session(settings(f"sc://127.0.0.1:{port}"))
        asking = threading.Thread(target=lambda: sessions.append(SparkSession.active()))
        asking.start()
        asking.join()

    assert sessions == [session]


def test_a_server_that_clones_no_sessions_keeps_workers_of_each() -> None:
    sessions: dict[str, dict[str, str]] = {}
    with connect_server(TOKEN, sessions=sessions, clones=False) as port:
        session = connect_session(settings(f"sc://127.0.0.1:{port}"))

        assert not shares_workers(session)
    assert list(sessions.values()) == [{}]


def test_a_server_that_is_gone_does_not_keep_another_from_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PySpark asks the first session of a process, when the first column is made, how errors are to look."""
    monkeypatch.setattr("pyspark.errors.utils._enable_debugging_cache", None)
    monkeypatch.setattr(SparkSession, "_default_session", None)
    monkeypatch.setattr(SparkSession._active_session, "session", None, raising=False)
    with connect_server(TOKEN) as port:
        open_spark(settings(f"sc://127.0.0.1:{port}"))
    with connect_server(TOKEN) as port:
        open_spark(settings(f"sc://127.0.0.1:{port}"))

        assert str(functions.col("price") > 1)


def test_a_session_that_its_server_has_forgotten_passes_with_the_next_one(plain: int) -> None:
    settings_given = settings(f"sc://127.0.0.1:{plain}")
    session = open_spark(settings_given)
    session.client.release_session()

    for _ in range(2):  # the server says so, and then PySpark by itself
        with pytest.raises(RetryError, match="has forgotten the session"), spark_errors(settings_given):
            session.conf.get("spark.sql.session.timeZone", "")

    assert is_spent(session)
    assert open_spark(settings_given).conf.get("spark.sql.session.timeZone", "") == "UTC"


def test_an_error_of_a_query_is_not_printed_by_pyspark_before_it_is_raised(
    plain: int, capsys: pytest.CaptureFixture[str]
) -> None:
    open_spark(settings(f"sc://127.0.0.1:{plain}"))

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).exception("no such column", errorClass="UNRESOLVED_COLUMN")

    assert capsys.readouterr() == ("", "")


def test_a_session_that_is_collected_while_pyspark_hands_work_to_its_threads_blocks_nobody(
    plain: int,
) -> None:
    """Collection may begin anywhere: so too in `submit`, by the thread that holds the lock of the pool."""
    connect_session(settings(f"sc://127.0.0.1:{plain}"))  # PySpark itself keeps the first one
    sessions = [connect_session(settings(f"sc://127.0.0.1:{plain}"))]
    pool = Responses._get_or_create_release_thread_pool()

    def collect() -> None:
        with pool._shutdown_lock:
            sessions.clear()
            gc.collect()

    collecting = threading.Thread(target=collect, daemon=True)
    collecting.start()
    collecting.join(PATIENCE)

    assert not collecting.is_alive()
    assert pool.submit(lambda: "still at work").result(PATIENCE) == "still at work"
