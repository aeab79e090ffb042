from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.names import things

Write = Callable[[str, str], Path]

HEAD = "type: assets.topic_tables.TopicTables\nattributes:\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes one pipeline; gives the folder of all pipelines."""

    def write(name: str, text: str) -> Path:
        folder = tmp_path / "pipelines" / name
        folder.mkdir(parents=True)
        (folder / "defs.yaml").write_text(text)
        return folder.parent

    return write


def refusal(folder: Path) -> str:
    with pytest.raises(SpecError) as refused:
        load_pipelines([folder], Settings()).all()
    return str(refused.value)


def test_a_folder_with_one_topic_is_a_pipeline(write: Write) -> None:
    folder = write("crm", HEAD + "  tables:\n    - topic: customers\n")

    (pipeline,) = load_pipelines([folder], Settings()).all()

    assert pipeline.name == "crm"
    assert [t.topic for t in pipeline.tables] == ["customers"]
    assert pipeline.lines == (4,)


def test_the_pipelines_of_the_checkout_can_be_read() -> None:
    settings = Settings()

    pipelines = load_pipelines(pipeline_folders(settings), settings).all()

    assert {p.name: [t.topic for t in p.tables] for p in pipelines} == {
        "airline": ["skyone", "sunset", "skyone_avro", "sunset_avro"],
        "shipping": ["shipments"],
        "trading": ["stock_trades", "users"],
    }


def test_a_table_made_of_others_is_a_query_that_says_why_and_eight_lines_at_most() -> None:
    settings = Settings()

    for pipeline in load_pipelines(pipeline_folders(settings), settings).all():
        end = len(pipeline.file.read_text().splitlines()) + 1
        for spec, (first, after) in zip(
            pipeline.derived, pairwise([*pipeline.derived_lines, end]), strict=False
        ):
            assert after - first <= 8, spec.table
            assert spec.sql
            lines = spec.sql.read_text().splitlines()
            assert 2 <= len(list(takewhile(lambda line: line.startswith("-- "), lines))) <= 3, spec.sql


def test_folders_are_separated_like_path(tmp_path: Path) -> None:
    both = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])

    assert pipeline_folders(Settings(pipelines=both)) == [tmp_path / "a", tmp_path / "b"]


def test_a_folder_that_is_itself_a_pipeline_is_taken(write: Write) -> None:
    folder = write("crm", HEAD + "  tables: [{topic: customers}]\n")

    assert [p.name for p in load_pipelines([folder / "crm"], Settings()).all()] == ["crm"]


def test_other_components_in_a_folder_are_left_to_dagster(write: Write) -> None:
    folder = write("other", "type: dagster.DefsFolderComponent\n")

    assert load_pipelines([folder], Settings()).all() == ()


@pytest.mark.parametrize(
    "written", ["assets.topic_tables.Topics", "assets.Pipeline", "frazil.Kafka", "Table"]
)
def test_a_type_that_no_module_of_ours_has_is_refused_with_those_that_there_are(
    write: Write, written: str
) -> None:
    folder = write("crm", f"type: {written}\nattributes:\n  tables: [{{topic: customers}}]\n")

    with pytest.raises(
        SpecError, match=f"crm/defs.yaml:1: type: '{written}' is unknown; known are"
    ) as raised:
        load_pipelines([folder], Settings()).all()

    for known in ("topic_tables.TopicTables", "derived_tables.DerivedTables", "deployments.Deployment"):
        assert f"assets.{known}" in str(raised.value)


def test_a_pipeline_may_stand_beside_other_components_in_one_file(write: Write) -> None:
    text = f"type: dagster.DefsFolderComponent\n---\n{HEAD}  tables: [{{topic: customers}}]\n"

    (pipeline,) = load_pipelines([write("crm", text)], Settings()).all()

    assert pipeline.lines == (5,)


def test_schema_files_are_found_beside_the_pipeline(write: Write) -> None:
    files = "key_schema: k.json, value_schema: v.proto"
    folder = write("crm", HEAD + f"  tables: [{{topic: customers, {files}}}]\n")
    key, value = folder / "crm" / "k.json", folder / "crm" / "v.proto"
    key.touch()
    value.touch()

    (pipeline,) = load_pipelines([folder], Settings()).all()

    (spec,) = pipeline.tables
    assert (spec.key_schema, spec.value_schema) == (key, value)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (HEAD + "  tables:\n    - topic: a\n      partitons: 6\n", 5, "did you mean 'partitions'?"),
        (HEAD + "  tabels: []\n", 3, "did you mean 'tables'?"),
        (HEAD + "  tables:\n    - topic: a\n      land_when: {recods: 1}\n", 5, "'records'"),
        (HEAD + "  tables:\n    - topic: a\n      partitions: many\n", 5, "(found 'many')"),
        (HEAD + "  tables:\n    - table: a\n", 4, "tables[0].topic: Field required"),
        (HEAD + "  tables: []\n", 3, "at least 1 item"),
        (HEAD + "  tables:\n    - topic: a\n      topic: b\n", 5, "written twice, first in line 4"),
        (HEAD + "  tables: [{topic: a, value_schema: no.avsc}]\n", 3, "there is no file"),
        (HEAD + f"  tables: [{{topic: a, value_schema: {'x' * 300}.avsc}}]\n", 3, "there is no file"),
        (HEAD + "  tables:\n    - topic: a\n      key_schema: no.avsc\n", 5, "key_schema: there is no file"),
        (HEAD + "  tables: [{topic: a, value_schema: a.xsd}]\n", 3, "ends with .avsc, .json, .proto"),
        (HEAD + "  tables: [{topic: a\n", 4, "this is no YAML"),
        ("type: assets.topic_tables.TopicTabels\n", 1, "did you mean assets.topic_tables.TopicTables?"),
        ("type: frazil.TopicTables\n", 1, "did you mean assets.topic_tables.TopicTables?"),
        ("type: TopicTables\n", 1, "did you mean assets.topic_tables.TopicTables?"),
        ("type: assets.topics.DerivedTable\n", 1, "did you mean assets.derived_tables.DerivedTables?"),
        (
            HEAD + "  tables:\n    - topic: a\n      partition_by: day(b)\n",
            5,
            "write [day(b)]",
        ),
        (HEAD, 2, "attributes: names and values are expected here"),
        ("attributes: {}\n", 1, "type: missing"),
        ("- a\n", 1, "type: missing"),
        ("type: assets.topic_tables.TopicTables\natributes: {}\n", 2, "did you mean 'attributes'?"),
    ],
)
def test_a_mistake_is_told_with_its_line(write: Write, text: str, line: int, expected: str) -> None:
    folder = write("crm", text)

    message = refusal(folder)

    assert f"{folder / 'crm' / 'defs.yaml'}:{line}: " in message
    assert expected in message


@pytest.mark.parametrize(
    ("written", "topic"),
    [
        ("a.{{ env('STAGE') }}", "a.test"),
        ("a.{{ env.STAGE }}", "a.test"),
        ("{{ env('NOBODY', 'b') }}.{{ env('STAGE') | upper }}", "b.TEST"),
    ],
)
def test_the_environment_fills_in_templates(
    write: Write, monkeypatch: pytest.MonkeyPatch, written: str, topic: str
) -> None:
    monkeypatch.setenv("STAGE", "test")
    monkeypatch.setenv("SIX", "6")
    text = f"""{HEAD}  tables: [{{topic: "{written}", partitions: "{{{{ env('SIX') }}}}"}}]\n"""

    (pipeline,) = load_pipelines([write("crm", text)], Settings()).all()

    (spec,) = pipeline.tables
    assert (spec.topic, spec.partitions) == (topic, 6)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{ env('NOBODY') }}", "the environment has no NOBODY"),
        ("{{ env.NOBODY }}", "the environment has no NOBODY"),
        ("{{ context.path }}", "'context' is undefined"),
        ("{{ env('A' }}", "unexpected '}'"),
        ("{{ env.__class__ }}", "is unsafe"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "computes nothing"),
    ],
)
def test_a_template_that_asks_for_more_is_refused_with_its_line(
    write: Write, written: str, expected: str
) -> None:
    folder = write("crm", f'{HEAD}  tables:\n    - topic: a\n      description: "{written}"\n')

    message = refusal(folder)

    assert f"{folder / 'crm' / 'defs.yaml'}:5: tables[0].description: " in message
    assert expected in message
    assert "write {{ env('NAME') }}" in message


def test_all_mistakes_of_a_file_are_told_at_once_and_nothing_else(write: Write) -> None:
    text = HEAD + "  tables:\n    - {topic: a, colour: red}\n    - {topic: b, freshness: soon}\n"

    message = refusal(write("crm", text)).splitlines()

    assert len(message) == 3
    assert "tables[0].colour" in message[0]
    assert "tables[1].freshness" in message[1]


@pytest.mark.parametrize(
    ("first", "second", "thing"),
    [
        ("{topic: a, table: t}", "{topic: b, table: t}", "iceberg/local/t"),
        ("{topic: a.b}", "{topic: a_b}", "iceberg/local/a_b"),
        ("{topic: a}", "{topic: a, table: other}", "kafka/a"),
    ],
)
def test_two_tables_that_are_one_thing_are_refused_with_both_places(
    write: Write, first: str, second: str, thing: str
) -> None:
    write("one", f"{HEAD}  tables: [{first}]\n")
    folder = write("two", f"{HEAD}  tables: [{second}]\n")

    message = refusal(folder)

    assert f"{thing} is there already" in message
    assert f"{folder / 'one' / 'defs.yaml'}:3" in message
    assert f"{folder / 'two' / 'defs.yaml'}:3" in message


def test_a_topic_of_several_record_types_has_a_table_for_each(write: Write) -> None:
    kinds = "{topic: shop, subject_names: record, record_type: com.Order, other_types: [com.Refund]}"
    folder = write("shop", f"{HEAD}  tables:\n    - {kinds}\n    - {kinds.replace('Order', 'Cancel')}\n")

    (pipeline,) = load_pipelines([folder], Settings()).all()

    names = [str(things(spec, Settings()).table) for spec in pipeline.tables]
    assert names == ["local.shop__order", "local.shop__cancel"]


@pytest.mark.parametrize(
    "tables",
    [
        "{topic: shop}, {topic: shop, table: shop_now, mode: upsert}",
        "{topic: shop, mode: cdc}, {topic: shop, table: shop_history, mode: cdc, versions: all}",
    ],
)
def test_a_topic_may_become_several_tables_and_is_one_asset(write: Write, tables: str) -> None:
    folder = write("shop", f"{HEAD}  tables: [{tables}]\n")

    (pipeline,) = load_pipelines([folder], Settings()).all()

    assert len({things(spec, Settings()).table for spec in pipeline.tables}) == 2
    assert {things(spec, Settings()).kafka_path for spec in pipeline.tables} == {("kafka", "shop")}


def test_a_column_of_no_type_is_refused_with_its_line(write: Write) -> None:
    folder = write(
        "shop", f"{HEAD}  tables:\n    - topic: shop\n      columns:\n        n: long\n        m: number\n"
    )

    message = refusal(folder)

    assert "'number' is no type" in message
    assert f"{folder / 'shop' / 'defs.yaml'}:7" in message


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (", on_bad_record: dead_letter", "table of dead letters would have 258 letters"),
        (", subject_names: record, record_type: com.AnOrderWithALongName", "table would have 266 letters"),
    ],
)
def test_a_name_that_no_catalog_takes_is_refused_with_its_length(
    write: Write, more: str, expected: str
) -> None:
    topic = "t" * 244
    folder = write("shop", f"{HEAD}  tables: [{{topic: {topic}{more}}}]\n")

    message = refusal(folder)

    assert expected in message
    assert "catalogs take 255" in message
    assert f"{folder / 'shop' / 'defs.yaml'}:3" in message


def test_two_pipelines_of_one_name_are_refused(tmp_path: Path, write: Write) -> None:
    folder = write("crm", HEAD + "  tables: [{topic: a}]\n")
    other = tmp_path / "more" / "crm"
    other.mkdir(parents=True)
    (other / "defs.yaml").write_text(HEAD + "  tables: [{topic: b}]\n")

    with pytest.raises(SpecError, match="another pipeline crm"):
        load_pipelines([folder, other.parent], Settings()).all()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    message = refusal(tmp_path / "nowhere")

    assert str(tmp_path / "nowhere") in message
    assert "FRAZIL_PIPELINES" in message
