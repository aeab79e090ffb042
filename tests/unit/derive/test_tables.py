"""One team's mistake breaks its own pipeline, and the tables of others that are made of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.derive.tables import KnownTables, known_tables, load_tables
from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil.spec.names import things
from kit.graph.mixed import BROKEN, TABLES, write_mixed


@pytest.fixture
def known(tmp_path: Path) -> KnownTables:
    return known_tables(load_pipelines([write_mixed(tmp_path)], Settings()), Settings())


def test_the_tables_of_sound_pipelines_are_there_beside_broken_ones(known: KnownTables) -> None:
    specs = [spec for pipeline in known.pipelines.sound for spec, _ in pipeline.every_table]

    assert sorted(str(things(spec, Settings()).table) for spec in specs) == TABLES
    assert [spec.table for spec in known.derived] == ["own"]
    assert sorted(map(str, known.columns)) == TABLES


def test_each_broken_pipeline_tells_its_own_mistakes_with_their_lines(known: KnownTables) -> None:
    mistakes = {broken.name: sorted(broken.error.what.splitlines()) for broken in known.pipelines.broken}

    assert mistakes.keys() == BROKEN.keys()
    for name, lines in BROKEN.items():
        assert len(mistakes[name]) == len(lines)
        assert all(line in mistake for line, mistake in zip(lines, mistakes[name], strict=True)), mistakes[
            name
        ]


def test_a_strict_profile_refuses_all_of_them_and_tells_every_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_STRICT", "true")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(write_mixed(tmp_path)))

    with pytest.raises(SpecError) as refused:
        load_tables(Settings.load())

    assert all(line in refused.value.what for lines in BROKEN.values() for line in lines)


def test_two_broken_pipelines_of_one_name_are_both_told(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        (root / "crm").mkdir(parents=True)
        (root / "crm/defs.yaml").write_text("- no pipeline\n")

    pipelines = load_pipelines(roots, Settings())

    assert [broken.folder.parent for broken in pipelines.broken] == roots


def test_an_error_that_nobody_foresaw_ends_its_own_pipeline_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_mixed(tmp_path)
    monkeypatch.setattr("frazil.derive.queries.check.unfit", lambda *_: 1 / 0)

    tables = known_tables(load_pipelines([folder], Settings()), Settings())

    mistakes = {broken.name: broken.error.what for broken in tables.pipelines.broken}
    assert "reader/defs.yaml:9: ZeroDivisionError: division by zero" in mistakes["reader"]
    assert "shop" in [pipeline.name for pipeline in tables.pipelines.sound]


def test_who_mends_the_file_mends_those_that_wait_for_it_too(tmp_path: Path) -> None:
    root = write_mixed(tmp_path)
    before = known_tables(load_pipelines([root], Settings()), Settings())
    todo = {broken.name: broken.error.todo for broken in before.pipelines.broken}

    (root / "query" / "f.sql").write_text("SELECT id FROM f")
    key = root / "key" / "defs.yaml"
    key.write_text(key.read_text().replace("freshnes:", "freshness:"))
    after = known_tables(load_pipelines([root], Settings()), Settings())

    assert todo["query"] == "Fix the files; nothing of this pipeline is started."
    assert todo["reader"] == "Fix what is broken; the other tables of this pipeline go on."
    assert {broken.name for broken in after.pipelines.broken} == BROKEN.keys() - {"query", "key", "reader"}
    assert {str(name) for name in after.columns} >= {f"local.{t}" for t in ("few", "late", "later", "maybe")}
    assert before.columns.items() <= after.columns.items()
