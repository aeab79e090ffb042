"""`make bench`, its last part: CPU seconds of commands on the running stack, each in a process of its own.

`land` lands what waits before it is measured, and then nothing. Prints a table on stderr and one line of JSON
on stdout; exits with 1 where a target is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from figures import Line, show

TARGETS = {("--help",): 0.5, ("tables",): 2.0, ("land", "stock_trades", "--no-sync"): None}
"""Commands, and the CPU seconds that each may take."""

REPEATS = 5
FRAZIL = Path(sys.executable).with_name("frazil")


def cpu_of(arguments: tuple[str, ...]) -> float:
    """User and system seconds of one run."""
    before = os.times()
    subprocess.run([FRAZIL, *arguments], check=True, capture_output=True, timeout=300)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def line_of(arguments: tuple[str, ...], target: float | None) -> Line:
    """The middle of several runs, after one that does not count."""
    cpu_of(arguments)
    cpu = median(cpu_of(arguments) for _ in range(REPEATS))
    told = f"at most {target:.1f}" if target else ""
    return Line(f"CPU, frazil {' '.join(arguments)}", cpu, "s", told, target is None or cpu <= target)


def main() -> None:
    """Measures all of them."""
    subprocess.run([FRAZIL, "generate", "stock_trades", "--count", "1000"], check=True, timeout=300)
    lines = [line_of(arguments, target) for arguments, target in TARGETS.items()]
    show(lines)
    sys.exit(any(not line.met for line in lines))


if __name__ == "__main__":
    main()
