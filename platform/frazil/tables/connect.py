"""Sessions on a Spark Connect server: its token, its certificate, and how long it is waited for."""

from __future__ import annotations

import atexit
import os
import warnings
from typing import Any, cast

import grpc
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession as RemoteSession

from frazil.settings.profile import Settings
from frazil.settings.secret import revealed

_PATIENCE: dict[str, Any] = {"max_retries": 5, "initial_backoff": 100, "backoff_multiplier": 2.0}
"""Three seconds. Spark's own ten minutes bring back no server whose sessions are gone with it."""

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class _Channel(DefaultChannelBuilder):
    """PySpark's own, which knows no authority but the known ones, and no loopback but `localhost`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.spark.remote)
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


class _Session(RemoteSession):
    """PySpark's own, but the garbage collector ends it without a word to the threads of all sessions."""

    def __del__(self) -> None:
        """The channel, which nobody holds any more, is closed by gRPC.

        PySpark's waits for the lock of the threads that all sessions share. Where the collector runs in
        the thread that holds it (`submit` makes objects), that thread waits for itself, for ever.
        """


def connect_session(settings: Settings) -> SparkSession:
    """A new session on the server of `settings.spark.remote`, with the token that it asks for."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # PySpark's functions go by it
    session = _Session(connection=_Channel(settings))
    _Session._set_default_and_active_session(session)
    # At its end PySpark asks for models to be deleted; where no server answers, the process hung there.
    atexit.unregister(session.client._cleanup_ml_cache)
    session.client.set_retry_policies([DefaultPolicy(**_PATIENCE)])
    # Said where it gives up; the error that follows says it better.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    return cast("SparkSession", session)
