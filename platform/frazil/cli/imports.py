"""What libraries import wherever they find it, and no command uses: the only place that keeps it away.

Only while a command runs: other processes, such as Dagster's, may hold code that uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import get_ident
from types import ModuleType

UNUSED: Mapping[str, frozenset[str]] = {
    # For answers as frames, and parameters that are NumPy's numbers, which nobody asks for or has: 0.5 s of
    # CPU. Spark Connect needs all three, and still finds them.
    "snowflake.connector.options": frozenset({"pandas"}),
    "snowflake.connector.nanoarrow_arrow_iterator": frozenset({"pyarrow"}),
    "snowflake.connector.compat": frozenset({"numpy"}),
    "snowflake.connector.converter": frozenset({"numpy"}),
    "snowflake.connector.arrow_context": frozenset({"numpy"}),
    # For urllib3 before 2.0: 0.1 s. It takes the standard library's TLS in both cases.
    "botocore.httpsession": frozenset({"urllib3.contrib.pyopenssl"}),
    # HTTP/2, which the registry's client never asks for: 0.1 s, where h2 is installed.
    "httpcore._sync": frozenset({"httpcore._sync.http2"}),
    "httpcore._async": frozenset({"httpcore._async.http2"}),
    "httpcore2._sync": frozenset({"httpcore2._sync.http2"}),
    "httpcore2._async": frozenset({"httpcore2._async.http2"}),
}
"""Modules, and what they go without: each catches the ImportError."""

DEFERRED = "pyiceberg.typedef"
"""Has the bases of PyIceberg's models: 150, of which a command uses some. To build all takes 0.15 s."""


@contextmanager
def lean() -> Iterator[None]:
    """Imports of this process go without what no command uses."""
    finder = _Lean()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Lean(MetaPathFinder):
    def __init__(self) -> None:
        self._hidden: dict[int, frozenset[str]] = {}  # by thread: others may import it for what uses it

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is that is imported in another way here; none of what is kept away."""
        if fullname in self._hidden.get(get_ident(), ()):
            raise ModuleNotFoundError(f"Kept away by {__name__}: {fullname}", name=fullname)
        if fullname not in UNUSED and fullname != DEFERRED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            self._wrap(spec)
        return spec

    def _wrap(self, spec: ModuleSpec) -> None:
        """Makes the loader go our way; it is the module's own, and stays what it is for all others."""
        loader = spec.loader
        assert loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            me = get_ident()
            before = self._hidden.get(me, frozenset())
            self._hidden[me] = before | UNUSED.get(spec.name, frozenset())
            try:
                execute(module)
            finally:
                self._hidden[me] = before
            if spec.name == DEFERRED:
                _defer(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]


def _defer(typedef: ModuleType) -> None:
    """PyIceberg's models are built when first used; pydantic does that under a lock."""
    for base in (typedef.IcebergBaseModel, typedef.IcebergRootModel):
        base.model_config["defer_build"] = True
