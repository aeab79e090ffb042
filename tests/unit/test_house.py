"""The house as docs/architecture.md has it: few modules side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = [ROOT / "platform", ROOT / "assets", ROOT / "resources", ROOT / "sensors"]
SIDE_BY_SIDE = 12


def folders() -> list[Path]:
    return sorted({file.parent for room in ROOMS for file in room.rglob("*.py")})


@pytest.mark.parametrize("folder", folders(), ids=lambda each: str(each.relative_to(ROOT)))
def test_a_folder_has_a_dozen_modules_at_most(folder: Path) -> None:
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]

    assert len(modules) <= SIDE_BY_SIDE, sorted(modules)
