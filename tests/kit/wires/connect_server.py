"""A server that speaks as much of Spark Connect as opening a session takes, and says no to what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from frazil_local.authority import Identity


class _Service(base_pb2_grpc.SparkConnectServiceServicer):
    """Keeps the settings of each session; those that are not set are true."""

    def __init__(self, sessions: dict[str, dict[str, str]]) -> None:
        self._sessions, self._closed = sessions, set[str]()

    def Config(self, request: Any, context: Any) -> Any:
        if request.session_id in self._closed:
            message = f"[INVALID_HANDLE.SESSION_CLOSED] The handle {request.session_id} is invalid."
            context.abort(grpc.StatusCode.INTERNAL, f"{message} Session was closed. SQLSTATE: HY000")
        settings = self._sessions.setdefault(request.session_id, {})
        settings |= {pair.key: pair.value for pair in request.operation.set.pairs}
        for name in request.operation.unset.keys:
            settings.pop(name, None)
        asked = request.operation.get_with_default.pairs
        pairs = [base_pb2.KeyValue(key=pair.key, value=settings.get(pair.key, "true")) for pair in asked]
        return base_pb2.ConfigResponse(
            session_id=request.session_id, server_side_session_id=request.session_id, pairs=pairs
        )


class _Newer(_Service):
    """Of a Spark that makes sessions of sessions."""

    def CloneSession(self, request: Any, context: Any) -> Any:
        self._sessions[request.new_session_id] = dict(self._sessions[request.session_id])
        return base_pb2.CloneSessionResponse(
            session_id=request.session_id,
            server_side_session_id=request.session_id,
            new_session_id=request.new_session_id,
            new_server_side_session_id=request.new_session_id,
        )

    def ReleaseSession(self, request: Any, context: Any) -> Any:
        del self._sessions[request.session_id]
        self._closed.add(request.session_id)
        return base_pb2.ReleaseSessionResponse(session_id=request.session_id)


class _Gate(grpc.ServerInterceptor):
    """Refuses what lacks the token, in the words of Spark's PreSharedKeyAuthenticationInterceptor."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}"

    def intercept_service(self, continuation: Callable[..., Any], details: Any) -> Any:
        if dict(details.invocation_metadata).get("authorization") == self._expected:
            return continuation(details)
        return grpc.unary_unary_rpc_method_handler(_refuse)


def _refuse(_: Any, context: Any) -> None:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "Invalid authentication token")


@contextmanager
def connect_server(
    token: str,
    identity: Identity | None = None,
    *,
    sessions: dict[str, dict[str, str]] | None = None,
    clones: bool = True,
) -> Iterator[int]:
    """The port of a server on 127.0.0.1 that demands a token; with an identity it speaks TLS only.

    Args:
        sessions: Gets the settings of each session that is open, by its id.
        clones: Whether it makes sessions of sessions, as Spark does since 4.1.
    """
    service = (_Newer if clones else _Service)({} if sessions is None else sessions)
    server = grpc.server(ThreadPoolExecutor(4), interceptors=[_Gate(token)])
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(service, server)
    if identity:
        pair = (identity.key.read_bytes(), identity.certificate.read_bytes())
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
