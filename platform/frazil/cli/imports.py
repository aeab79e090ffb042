"""What libraries import, and commands use late or never: the only place that keeps it away.

Only while a command runs: other processes, such as Dagster's, may hold code that uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from threading import get_ident
from types import ModuleType
from typing import Any

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

_OAUTH = "authlib.integrations.httpx_client"

LATE = frozenset(
    {
        # For PyIceberg's own file of settings, which hardly anybody has: 40 ms.
        "strictyaml",
        # For filters as text, which nobody writes here; its grammar, with all of pyparsing: 20 ms.
        "pyiceberg.expressions.parser",
    }
)
"""Modules that are executed when first used, by what imports them as a whole."""

CALLED: Mapping[str, tuple[str, str]] = {
    # Where OAuth logs in to the registry: 50 ms, or 30 where Snowflake needs `cryptography` anyway.
    "confluent_kafka.schema_registry._sync.schema_registry_client": (_OAUTH, "OAuth2Client"),
    "confluent_kafka.schema_registry._async.schema_registry_client": (_OAUTH, "AsyncOAuth2Client"),
    # For the version of PyArrow, where Snowflake's connector finds pandas: 15 ms.
    "snowflake.connector.options": ("packaging.requirements", "Requirement"),
}
"""Modules, and the class of another module that they only call: that one is imported when they do."""

DEFERRED = "pyiceberg.typedef"
"""Has the bases of PyIceberg's models: 150, of which a command uses some. To build all takes 0.15 s."""

_OTHERWISE = frozenset({*UNUSED, *LATE, *CALLED, DEFERRED})


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
        if fullname not in _OTHERWISE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            if fullname in LATE:
                spec.loader = LazyLoader(spec.loader)
            else:
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
                with _late_class(CALLED.get(spec.name)):
                    execute(module)
            finally:
                self._hidden[me] = before
            if spec.name == DEFERRED:
                _defer(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]


@contextmanager
def _late_class(called: tuple[str, str] | None) -> Iterator[None]:
    """What is imported meanwhile finds a function in the place of a class, which imports it when called."""
    if called is None or called[0] in sys.modules:
        yield
        return
    module, name = called
    stand_in = ModuleType(module)

    def call(*given: Any, **named: Any) -> Any:
        _leave(stand_in)  # it may be called as early as that
        return getattr(import_module(module), name)(*given, **named)

    setattr(stand_in, name, call)
    sys.modules[module] = stand_in
    try:
        yield
    finally:
        _leave(stand_in)


def _leave(stand_in: ModuleType) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]


def _defer(typedef: ModuleType) -> None:
    """PyIceberg's models are built when first used; pydantic does that under a lock."""
    for base in (typedef.IcebergBaseModel, typedef.IcebergRootModel):
        base.model_config["defer_build"] = True
