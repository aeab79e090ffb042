"""A file of a pipeline calls nothing, and a few lines of it never cost more than a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from kit.graph.yaml_traps import TRAPS

HEAD = "type: assets.topic_tables.TopicTables\nattributes:\n  tables:\n    - topic: t\n      "


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_is_refused_like_any_other_mistake(trap: str, tmp_path: Path) -> None:
    file = tmp_path / "pipeline" / "defs.yaml"
    file.parent.mkdir()
    file.write_text(HEAD + trap.replace("\n", "\n      ") + "\n", encoding="utf-8")

    with pytest.raises(SpecError, match=r"defs\.yaml"):
        load_pipelines([tmp_path], Settings()).all()
