"""Catalogs that do as they are asked and say something else, for tests without servers.

`LyingCatalog` says what PyIceberg's REST client makes of a lost answer. `glue_in_process` is moto with
Frazil's lock, asked by botocore over a wire that loses answers: what is sent again there, botocore sends.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import requests
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.exceptions import CommitStateUnknownException, ServerError, ServiceUnavailableError
from requests.exceptions import ConnectionError as Aborted
from requests.exceptions import ReadTimeout

from frazil_local.authority import Authority

__all__ = ["LIES", "LOST", "Lie", "LyingCatalog", "between", "glue_in_process"]

T = TypeVar("T")

Lie = Callable[[Callable[[], Any], bool], Any]
"""Given what sends the request, and whether it is a commit: the answer, or what the client would raise."""


def _dropped(send: Callable[[], Any], _: bool) -> Any:
    send()
    raise Aborted(
        "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
    )


def _failed(send: Callable[[], Any], commit: bool) -> Any:
    send()
    raise (CommitStateUnknownException if commit else ServerError)("InternalServerError: it broke on the way")


def _replayed(send: Callable[[], Any], _: bool) -> Any:
    send()
    return send()


def _hung(send: Callable[[], Any], _: bool) -> Any:
    send()
    raise ReadTimeout("HTTPConnectionPool(host='127.0.0.1', port=1): Read timed out. (read timeout=30)")


def _unsent(_send: Callable[[], Any], _: bool) -> Any:
    raise Aborted("Failed to establish a new connection: [Errno 111] Connection refused")


def _refused(_send: Callable[[], Any], _: bool) -> Any:
    raise ServiceUnavailableError("ServiceUnavailable: try again later")


LOST: dict[str, Lie] = {"dropped": _dropped, "failed": _failed, "replayed": _replayed}
"""The request is done, and its answer is lost."""

LIES: dict[str, Lie] = LOST | {"hung": _hung, "unsent": _unsent, "refused": _refused}
"""The last two are not done."""


def between(action: Callable[[], object]) -> Lie:
    """No lie: something else happens right before the request arrives."""

    def tell(send: Callable[[], Any], _: bool) -> Any:
        action()
        return send()

    return tell


class LyingCatalog(InMemoryCatalog):
    """Tells each of its lies once, and then the truth; also down, where it is told so.

    Args:
        warehouse: Folder of its tables.
    """

    def __init__(self, warehouse: Path) -> None:
        super().__init__("lying", warehouse=warehouse.as_uri())
        self.lies: deque[Lie] = deque()
        self.habit: Lie | None = None
        self.is_down = False

    def die_after_the_next_commit(self) -> None:
        """It is applied, and from then on nobody answers."""

        def tell(send: Callable[[], Any], commit: bool) -> Any:
            try:
                return _dropped(send, commit)
            finally:
                self.is_down = True

        self.lies.append(tell)

    def commit_table(self, *args: Any, **kwargs: Any) -> Any:
        """See `Catalog.commit_table`."""
        return self._answer(lambda: super(LyingCatalog, self).commit_table(*args, **kwargs), commit=True)

    def create_table(self, *args: Any, **kwargs: Any) -> Any:
        """See `Catalog.create_table`."""
        return self._answer(lambda: super(LyingCatalog, self).create_table(*args, **kwargs), commit=False)

    def load_table(self, *args: Any, **kwargs: Any) -> Any:
        """See `Catalog.load_table`."""
        if self.is_down:
            raise Aborted("Failed to establish a new connection: [Errno 111] Connection refused")
        return super().load_table(*args, **kwargs)

    def _answer(self, send: Callable[[], T], *, commit: bool) -> T:
        if self.is_down:
            raise Aborted("Failed to establish a new connection: [Errno 111] Connection refused")
        if lie := self.lies.popleft() if self.lies else self.habit:
            answer: T = lie(send, commit)
            return answer
        return send()


@contextmanager
def glue_in_process(folder: Path, authority: Authority | None = None) -> Iterator[str]:
    """Moto with the lock of the embedded stack's Glue; its address. An authority: it speaks TLS."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    from frazil_local.servers.aws import Kept, keep_glue

    keep_glue(Kept(folder / "glue.sqlite"))
    tls, scheme, ca = None, "http", None
    if authority:
        identity, scheme, ca = authority.identity("moto"), "https", str(authority.file)
        tls = str(identity.certificate), str(identity.key)
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=tls)
    address = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        # Moto keeps what it holds for the whole process: the next one would find these tables.
        requests.post(f"{address}/moto-api/reset", timeout=60, verify=ca).raise_for_status()
        server.shutdown()
        server.server_close()
        thread.join()
