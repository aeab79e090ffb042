"""What all tests share: marks by folder, and the embedded stack; see kit.stack.shared_stack."""

from __future__ import annotations

import gc
import logging
import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from frazil.telemetry.logs import LOGGERS, JsonLines
from frazil_local.home import Home
from kit.records.producing import plainly
from kit.runs.dealing import ByStandIn
from kit.stack.shared_stack import bring_down, bring_up, is_to_stay, shared_home

_HERE = Path(__file__).parent
_LEFT = (
    "FRAZIL_CACHE",
    "FRAZIL_TEST_KEEP",
    "FRAZIL_TEST_HOME",
    "FRAZIL_TEST_READERS",
    "FRAZIL_TEST_TRINO",
    "FRAZIL_TEST_TRINO_JAVA",
)

_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
"""Java's second compiler pays off after minutes of the same work; in tests it took a fifth of Spark's CPU.
Without it Java keeps room for 48 MB of compiled code only: full after 1,000 jobs, and then Spark dies."""

_UNVERIFIED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
"""By day Java takes classes as they are: of locked jars, and a seventh of what the start of Spark took."""

_SPARK_BY_DAY = (
    "-Dspark.sql.codegen.wholeStage=false",
    "-Dspark.sql.codegen.factoryMode=NO_CODEGEN",
    "-Dspark.sql.shuffle.partitions=4",
)
"""By day Spark interprets its plans, as it does with those that are too long for Java. For the small tables
here it wrote, compiled and loaded code of each one's own: with the 200 parts of its shuffles that took two
fifths of the CPU of a Spark that is warm. Without `-m "not nightly"` it works as it does for users."""


PAIRS: dict[str, dict[str, Any]] = {
    "rest": {"catalog": "rest"},
    "glue": {"catalog": "glue"},
}
"""Catalogs by name. Everything that asks for `lake` runs on the first pair, which is the default of
users. Another one is an exception with a reason: `@pytest.mark.also("glue", why="...")`; with `nightly=True`
it is left to `make nightly`, where other tests of every day show the same of that catalog."""


def pytest_configure() -> None:
    """Hears Ctrl-C also where a shell began this in the background, which has it ignored.

    A run of Dagster gives SIGTERM the handler of SIGINT, and what is ignored here is ignored by all that is
    started here: each stop of a server, later in the same process, waited 30 s until it killed it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.root.manager.loggerDict = _Loggers(logging.root.manager.loggerDict)


class _Loggers(dict[str, logging.Logger | logging.PlaceHolder]):
    """Loggers by name. Pytest 9.1 goes through them before each test without their lock.

    A thread that imported a library meanwhile made the test fail: a dictionary had changed its size.
    """

    def values(self) -> Any:
        """Those that are there now, in a list of its own."""
        return list(super().values())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByStandIn | None:
    """Deals files out as `ByStandIn` does, where files are dealt out."""
    return ByStandIn(config, log) if config.option.dist == "loadfile" else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs what asks for `lake` on the default pair, and on those that its marks name as well."""
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if not {"lake", "stack"} <= {*metafunc.fixturenames} or any("lake" in each for each in own):
        return
    others = list(metafunc.definition.iter_markers("also"))
    assert all(mark.kwargs["why"] for mark in others)
    by_day = {mark.args[0] for mark in others if not mark.kwargs.get("nightly")}
    more = [
        pytest.param(name, marks=[] if name in by_day else [pytest.mark.nightly])
        for name in dict.fromkeys(mark.args[0] for mark in reversed(others))
    ]
    metafunc.parametrize("lake", [next(iter(PAIRS)), *more], indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests that need servers, by folder, and those that are for the night, by their parameters."""
    missing: dict[str, set[str]] = {}
    for item in items:
        if item.path.relative_to(_HERE).parts[0] in ("stack", "faults"):
            item.add_marker(pytest.mark.stack)
        if chosen := item.get_closest_marker("each_time"):
            name, _, parameters = item.nodeid.removesuffix("]").partition("[")
            missing.setdefault(name, {*chosen.args}).discard(parameters)
            if parameters not in chosen.args:
                item.add_marker(pytest.mark.nightly)
    if any(missing.values()) and not any("::" in arg for arg in config.args):
        raise pytest.UsageError(f"each_time names parameters that no test has: {missing}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Looks for no garbage among what is imported: that took a fifth of the collection's CPU."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """All that is imported by now stays: looking for garbage among it took a tenth of the unit tests' CPU."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Brings down the stack that workers shared, when the last of them is done."""
    shared = session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput")
    home = shared_home()
    stays = not shared or is_to_stay(home)
    try:
        return (yield)
    finally:
        if not stays and home.ports.exists():
            bring_down(home)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Commands run in this process: one that logs JSON must not make the next ones do so."""
    root, levels = logging.getLogger(), {name: logging.getLogger(name).level for name in LOGGERS}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    for handler in [h for h in root.handlers if isinstance(h, JsonLines)]:
        root.removeHandler(handler)


@pytest.fixture
def garbage_waits() -> Iterator[None]:
    """For tests that reach Python's recursion limit: what another test left would fail there as it goes."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def without_components() -> Iterator[None]:
    """Spares each test of a page Streamlit's look through all packages for components: half a second."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", list)
        yield


@pytest.fixture(scope="session")
def by_day(pytestconfig: pytest.Config) -> bool:
    """Whether the tests of the night are left out."""
    return "not nightly" in pytestconfig.option.markexpr


@pytest.fixture(scope="session")
def stack_home(by_day: bool) -> Iterator[Home]:
    """The folder of the tests' stack, in force for this process and all that it starts."""
    home = shared_home()
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")) and name not in _LEFT:
                patch.delenv(name)
        patch.setenv("FRAZIL_HOME", str(home.root))
        quicker = (*_UNVERIFIED, *_SPARK_BY_DAY) if by_day else ()
        patch.setenv("JAVA_TOOL_OPTIONS", " ".join([_JAVA, *quicker]))
        yield home


@pytest.fixture(scope="session")
def stack(stack_home: Home) -> Iterator[Settings]:
    """The settings of a stack that is up. One of several workers leaves it to the others."""
    stays = is_to_stay(stack_home) or "PYTEST_XDIST_WORKER" in os.environ
    bring_up(stack_home)
    yield Settings.of_profile(stack_home.profile)
    if not stays:
        bring_down(stack_home)


@pytest.fixture(scope="session")
def connections(stack: Settings) -> Connections:
    """Clients of the stack."""
    return Clients(stack)


@pytest.fixture(scope="session")
def lake(stack: Settings, request: pytest.FixtureRequest) -> Connections:
    """The stack with the catalog that a test is for; see `PAIRS`."""
    return Clients(stack.with_changes(**PAIRS[request.param]))


@pytest.fixture(autouse=True)
def sent(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests send records in transactions beside aborted ones, but those that are marked `plain`."""
    why = [mark.kwargs["why"] for mark in request.node.iter_markers("plain")]
    with plainly(why[0]) if why else nullcontext():
        yield


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test has, legal for topics, namespaces and tables."""
    return f"t{uuid.uuid4().hex[:12]}"
