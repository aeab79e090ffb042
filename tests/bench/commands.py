"""`make bench`, its last part: CPU seconds of commands, each in a process of its own.

`land` lands what waits before it is measured, and then nothing. Dagster's definitions are those of 300 topics
(`definitions.py`). A newcomer's mistakes are made in a folder of their own, without a stack;
the dearest one counts. Prints a table on stderr and one line of JSON on stdout; exits with 1 where a target
is missed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from definitions import definitions
from figures import Line, show

from kit.graph.mistakes import ARGUMENTS, FILES, SETTINGS, TOPIC

TARGETS = {
    ("--help",): 0.5,
    ("tables",): 1.0,
    ("land", "stock_trades", "--no-sync"): 1.2,
    ("land", "stock_trades"): 1.2,
}
"""Commands, and the CPU seconds that each may take."""

PER_MISTAKE = 3.0
REPEATS = 5
FRAZIL = Path(sys.executable).with_name("frazil")


def cpu_of(arguments: tuple[str, ...], environment: dict[str, str] | None = None, ends: int = 0) -> float:
    """User and system seconds of one run, which must end as it should."""
    before = os.times()
    done = subprocess.run(
        [FRAZIL, *arguments], env={**os.environ, **(environment or {})}, capture_output=True, timeout=300
    )
    after = os.times()
    if done.returncode != ends:
        raise SystemExit(f"frazil {shlex.join(arguments)}: {done.returncode}\n{done.stderr.decode()}")
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def line_of(arguments: tuple[str, ...], target: float | None) -> Line:
    """The middle of several runs, after one that does not count."""
    cpu_of(arguments)
    cpu = median(cpu_of(arguments) for _ in range(REPEATS))
    limit = f"at most {target:.1f}" if target else ""
    return Line(f"CPU, frazil {' '.join(arguments)}", cpu, "s", limit, target is None or cpu <= target)


def mistakes(folder: Path) -> Iterator[tuple[float, str]]:
    """What each mistake takes, and what it is."""
    file = folder / "pipelines" / "shop" / "defs.yaml"
    file.parent.mkdir(parents=True)
    there = {
        "FRAZIL_HOME": str(folder / "home"), "FRAZIL_PIPELINES": str(file.parents[1]), "FRAZIL_PROFILE": ""
    }  # fmt: skip
    file.write_text(TOPIC)
    for line, _ in ARGUMENTS:
        yield cpu_of(tuple(shlex.split(line)), there, ends=2), f"frazil {line}"
    for name, value, _ in SETTINGS:
        yield cpu_of(("tables",), {**there, name: value}, ends=2), f"{name}={value}"
    for text, text_of_mistake in FILES:
        file.write_text(text)
        yield cpu_of(("tables",), there, ends=2), text_of_mistake


def dearest_mistake() -> Line:
    """The one that takes longest."""
    with TemporaryDirectory() as folder:
        cpu, which = max(mistakes(Path(folder)))
    limit = f"at most {PER_MISTAKE:.1f}"
    return Line(f"CPU, the dearest mistake: {which}", cpu, "s", limit, cpu <= PER_MISTAKE)


def main() -> None:
    """Measures all of them."""
    subprocess.run([FRAZIL, "generate", "stock_trades", "--count", "1000"], check=True, timeout=300)
    lines = [line_of(arguments, target) for arguments, target in TARGETS.items()]
    lines += [*definitions(300), dearest_mistake()]
    show(lines)
    sys.exit(any(not line.met for line in lines))


if __name__ == "__main__":
    main()
