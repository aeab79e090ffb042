"""What errors of pipelines and deployments advise is done: they load then, and tables keep their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.errors import SpecError, UsageError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil_cloud.spec.folders import load_deployments

HEAD = "type: assets.topic_tables.TopicTables\nattributes:\n"
SHOP = "type: assets.deployments.Deployment\nattributes: {{name: {name}, aws: {{bucket: {name}-lake}}}}\n"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes one file of a folder; gives the folder of all of them."""

    def write(name: str, text: str) -> Path:
        file = tmp_path / "all" / name / "defs.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file.parent.parent

    return write


def names(folder: Path) -> list[str]:
    pipelines = load_pipelines([folder], Settings()).all()
    return [str(things(spec, Settings()).table) for pipeline in pipelines for spec in pipeline.tables]


def refused(folder: Path) -> SpecError:
    with pytest.raises(SpecError) as raised:
        names(folder)
    return raised.value


def test_a_file_is_taken_once_its_mistakes_are_mended(write: Write) -> None:
    folder = write("one", f"{HEAD}  tables: [{{topic: a, partitons: 3}}]\n")
    assert "Fix the file" in refused(folder).todo
    write("two", f"{HEAD}  tables: [{{topc: b}}]\n")
    assert refused(folder).todo == "Fix the files; nothing was started."

    write("one", f"{HEAD}  tables: [{{topic: a, partitions: 3}}]\n")
    write("two", f"{HEAD}  tables: [{{topic: b}}]\n")

    assert names(folder) == ["local.a", "local.b"]


def test_of_two_tables_of_one_name_the_newer_gets_another_and_the_older_keeps_its_rows(write: Write) -> None:
    write("one", f"{HEAD}  tables: [{{topic: orders}}]\n")
    folder = write("two", f"{HEAD}  tables: [{{topic: sales, table: orders}}]\n")
    error = refused(folder)
    assert error.todo.endswith("for the newer of the two: one that is there starts over.")

    write("two", f"{HEAD}  tables: [{{topic: sales, table: sold}}]\n")

    assert names(folder) == ["local.orders", "local.sold"]


def test_all_tables_of_a_topic_stand_in_one_file_each_with_its_name(write: Write) -> None:
    write("one", f"{HEAD}  tables: [{{topic: orders}}]\n")
    folder = write("two", f"{HEAD}  tables: [{{topic: orders, table: more}}]\n")
    assert refused(folder).todo.startswith("Write all tables of a topic into one file")

    write("one", f"{HEAD}  tables: [{{topic: orders}}, {{topic: orders, table: more}}]\n")
    write("two", f"{HEAD}  tables: [{{topic: users}}]\n")

    assert names(folder) == ["local.orders", "local.more", "local.users"]


def test_a_table_that_is_there_keeps_its_name_and_its_old_way_with_bad_records(write: Write) -> None:
    """ "Name a shorter table" alone begins a second table, without what the topic no longer holds."""
    topic = "t" * 244
    folder = write("shop", f"{HEAD}  tables: [{{topic: {topic}}}]\n")
    before = names(folder)
    write("shop", f"{HEAD}  tables: [{{topic: {topic}, on_bad_record: dead_letter}}]\n")
    error = refused(folder)
    assert "If it is there already, let `on_bad_record` be as it was" in error.todo

    write("shop", f"{HEAD}  tables: [{{topic: {topic}}}]\n")
    assert names(folder) == before

    write("shop", f"{HEAD}  tables: [{{topic: {topic}, table: short, on_bad_record: dead_letter}}]\n")
    assert names(folder) == ["local.short"]


def test_a_folder_of_pipelines_is_found_once_its_setting_is_mended(write: Write) -> None:
    folder = write("one", f"{HEAD}  tables: [{{topic: a}}]\n")
    assert refused(folder / "nowhere").todo == "Fix FRAZIL_PIPELINES."

    assert names(folder) == ["local.a"]


def test_two_pipelines_of_one_name_load_once_one_has_another(write: Write, tmp_path: Path) -> None:
    folder = write("crm", f"{HEAD}  tables: [{{topic: a}}]\n")
    (tmp_path / "more").mkdir()
    (folder / "crm").rename(tmp_path / "more" / "crm")
    write("crm", f"{HEAD}  tables: [{{topic: b}}]\n")
    both = [folder, tmp_path / "more"]
    with pytest.raises(SpecError, match="another pipeline crm") as raised:
        load_pipelines(both, Settings()).all()
    assert raised.value.todo == "Give one of the two folders another name."

    (tmp_path / "more" / "crm").rename(tmp_path / "more" / "sales")

    assert {each.name for each in load_pipelines(both, Settings()).all()} == {"crm", "sales"}


def test_a_deployment_is_found_by_the_name_that_was_meant(write: Write) -> None:
    write("a", SHOP.format(name="shop"))
    folder = write("b", SHOP.format(name="sale"))
    deployments = load_deployments(Settings(deployments=str(folder)), [])
    for name, todo in (("shops", "Did you mean shop?"), ("", "Known are shop, sale.")):
        with pytest.raises(UsageError) as raised:
            deployments.named(name)
        assert raised.value.todo == todo

    assert deployments.named("shop").spec.name == "shop"


def test_of_two_deployments_of_one_name_the_newer_gets_another(write: Write) -> None:
    write("a", SHOP.format(name="shop"))
    folder = write("b", SHOP.format(name="shop"))
    settings = Settings(deployments=str(folder))
    with pytest.raises(SpecError, match="another deployment shop") as raised:
        load_deployments(settings, []).all()
    assert raised.value.todo.startswith("Give the newer of the two another name")

    write("b", SHOP.format(name="sale"))

    assert [each.spec.name for each in load_deployments(settings, []).all()] == ["shop", "sale"]


def test_a_table_is_named_by_its_namespace_and_itself() -> None:
    with pytest.raises(UsageError) as raised:
        TableName.parse("orders.", "local")
    assert raised.value.todo == "Write namespace.table."

    assert TableName.parse("local.orders", "local") == TableName("local", "orders")
