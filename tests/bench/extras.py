"""What Frazil and each extra weigh: packages, megabytes on disk, and the start of a command.

The distributions are those of this environment, which has what requirements.lock names; compiled files do not
count.
`frazil --help` runs in an environment of its own that sees these alone. Prints rows for docs/install.md.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from kit.pages.requirements import reached
from kit.pages.wheel import build_wheel, make_environment

EXTRAS = ("local", "cloud", "dashboard", "graph", "lineage", "tracing")
_MB = 1_000_000


def size(names: Iterable[str]) -> tuple[int, float]:
    """How many of them are installed here, and their megabytes."""
    installed = [files for name in names if (files := _files(name)) is not None]
    return len(installed), sum(file.stat().st_size for files in installed for file in files) / _MB


def _files(name: str) -> list[Path] | None:
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:  # for other systems only
        return None
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return [path for path in paths if path.is_file()]


def start(folder: Path, wheel: Path, extra: str) -> float:
    """CPU seconds of `frazil --help`, the median of seven."""
    others = reached((extra,)) - reached(()) if extra else ()
    environment = make_environment(folder, wheel, *others)
    return median(_cpu(environment.run, environment.folder / "bin" / "frazil") for _ in range(8))


def _cpu(run: object, program: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run(program, "--help").returncode == 0  # type: ignore[operator]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measures all of them, one after the other."""
    engine = reached(())
    with TemporaryDirectory() as name:
        wheel = build_wheel(Path(name))
        for extra in ("", *EXTRAS):
            packages, megabytes = size(reached((extra,)) - engine if extra else engine)
            seconds = start(Path(name) / (extra or "engine"), wheel, extra)
            shown = f"`{extra}`, besides" if extra else "none"
            print(f"| {shown} | {packages} | {megabytes:,.0f} | {seconds:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
