"""A server that speaks as much of Spark Connect as opening a session takes, and says no to what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from frazil.local.authority import Identity


class _Service(base_pb2_grpc.SparkConnectServiceServicer):
    """Takes every setting of a session, and forgets it."""

    def Config(self, request: Any, context: Any) -> Any:
        return base_pb2.ConfigResponse(session_id=request.session_id, server_side_session_id="one")


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
def connect_server(token: str, identity: Identity | None = None) -> Iterator[int]:
    """The port of a server on 127.0.0.1 that demands a token; with an identity it speaks TLS only."""
    server = grpc.server(ThreadPoolExecutor(4), interceptors=[_Gate(token)])
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(_Service(), server)
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
