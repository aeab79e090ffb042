"""Sessions on a Spark Connect server: its token, its certificate, and how long it is waited for."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast
from uuid import uuid4

import grpc
from pyspark.errors.utils import is_debugging_enabled
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder, SparkConnectClient
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto.base_pb2 import ConfigRequest, KeyValue
from pyspark.sql.connect.session import SparkSession as RemoteSession

from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.tables.spark.session import ISOLATED

_PATIENCE: dict[str, Any] = {"max_retries": 5, "initial_backoff": 100, "backoff_multiplier": 2.0}
"""Three seconds. Spark's own ten minutes bring back no server whose sessions are gone with it."""

_SPENT = tuple(f"INVALID_HANDLE.SESSION_{what}" for what in ("CHANGED", "CLOSED", "NOT_FOUND"))
"""What a server says that was started again, or has forgotten a session, which nobody used for an hour."""

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class _Channel(DefaultChannelBuilder):
    """PySpark's own, which knows no authority but the known ones, and no loopback but `localhost`."""

    def __init__(self, settings: Settings, session_id: str) -> None:
        super().__init__(settings.spark.remote)
        self.set(self.PARAM_SESSION_ID, session_id)
        self._ca = settings.spark.ca.read_bytes() if settings.spark.ca else None
        if token := revealed(settings.spark.token):
            self.set(self.PARAM_TOKEN, token)

    def toChannel(self) -> grpc.Channel:
        """See `DefaultChannelBuilder.toChannel`: a token leaves this machine through TLS only."""
        if not self.secure:
            return self._insecure_channel(self.endpoint)
        near = self.host in _LOOPBACK and not self.use_ssl
        channel = grpc.local_channel_credentials() if near else grpc.ssl_channel_credentials(self._ca)
        if self.token is not None:
            token = grpc.access_token_call_credentials(self.token)
            channel = grpc.composite_channel_credentials(channel, token)
        return self._secure_channel(self.endpoint, channel)


class _Client(SparkConnectClient):
    """PySpark's own, which takes note of the first of these three errors only, and then calls nobody."""

    def _handle_rpc_error(self, rpc_error: grpc.RpcError) -> NoReturn:
        """See `SparkConnectClient._handle_rpc_error`."""
        if any(sign in str(rpc_error) for sign in _SPENT):
            self._closed = True
        super()._handle_rpc_error(rpc_error)


class _Session(RemoteSession):
    """PySpark's own, but the garbage collector ends it without a word to the threads of all sessions."""

    def __init__(self, settings: Settings, session_id: str) -> None:
        super().__init__(connection=_Channel(settings, session_id))
        self.client.__class__ = _Client  # a session makes its client by itself
        _make_patient(self.client)

    def __del__(self) -> None:
        """The channel, which nobody holds any more, is closed by gRPC.

        PySpark's waits for the lock of the threads that all sessions share. Where the collector runs in
        the thread that holds it (`submit` makes objects), that thread waits for itself, forever.
        """


def connect_session(settings: Settings) -> SparkSession:
    """A new session on the server of `settings.spark.remote`, with the token that it asks for."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # PySpark's functions go by it
    # Said where it gives up; the error that follows says it better.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    session = _shared(settings, _Session(settings, str(uuid4())))
    _make_default(session)
    # PySpark asks the first session once, when the first column is made: by then its server may be gone,
    # and no other session could make one.
    is_debugging_enabled()
    return cast("SparkSession", session)


def _make_default(session: _Session) -> None:
    """PySpark asks its own class for the session of a function; one that is spent would stay there."""
    default = RemoteSession._default_session
    if default is not None and default.is_stopped:
        RemoteSession._default_session = None
    RemoteSession._set_default_and_active_session(session)


def set_at_once(session: SparkSession, unset: Iterable[str], settings: Mapping[str, str]) -> None:
    """Unsets and sets settings of a session in two requests; `session.conf` sends one for each setting."""
    client = cast("_Session", session).client
    client.config(ConfigRequest.Operation(unset=ConfigRequest.Unset(keys=list(unset))))
    pairs = [KeyValue(key=key, value=value) for key, value in settings.items()]
    client.config(ConfigRequest.Operation(set=ConfigRequest.Set(pairs=pairs)))


def _shared(settings: Settings, first: _Session) -> _Session:
    """A session whose Python workers are those of all such sessions; the first one, where that can't be had.

    Of each isolated session Spark keeps a process of 44 MB and a thread in each executor, as long as that
    lives (SPARK-54055). The server isolates a session with its first call, so that no setting comes
    early enough, but a clone's, which has those of the session that it is made of.
    """
    own = str(uuid4())
    first.conf.set(ISOLATED, "false")
    try:
        _make_patient(first.client.clone(own))
    except grpc.RpcError as e:
        if e.code() is not grpc.StatusCode.UNIMPLEMENTED:
            raise
        first.conf.unset(ISOLATED)
        return first
    first.client.release_session()  # no more: its `close` ends the threads of all sessions
    return _Session(settings, own)


def _make_patient(client: SparkConnectClient) -> None:
    # At its end PySpark asks for models to be deleted; where no server answers, the process hung there.
    atexit.unregister(client._cleanup_ml_cache)
    client.set_retry_policies([DefaultPolicy(**_PATIENCE)])
