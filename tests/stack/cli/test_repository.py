"""A repository that `frazil init` makes: its README's commands, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from frazil.settings.profile import Settings
from kit.shell import Command
from kit.waiting import PATIENCE


def test_the_commands_of_its_readme_work_as_they_stand(
    stack: Settings, frazil: Command, tmp_path: Path
) -> None:
    frazil("init", str(tmp_path / "ours"))
    blocks = re.findall(r"```sh\n(.*?)```", (tmp_path / "ours/README.md").read_text(), re.DOTALL)
    (block,) = (block for block in blocks if "frazil land" in block)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-ec", block], cwd=tmp_path / "ours", env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "100 orders to orders" in done.stdout
    assert "local.orders" in done.stdout
    assert "paid" in done.stdout
