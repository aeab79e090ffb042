"""Which Iceberg views a table should have, what is refused, and a catalog that holds none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from frazil.errors import ConfigureError, SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.publishing.targets import targets_of
from frazil.publishing.views.held import HeldViews
from frazil.publishing.views.wanted import view_names, wanted_views
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from kit.derived.made_tables import fresh_catalog

TABLE = TableName("shop", "orders")
COLUMNS = ("id", "city", "$$partition", "$$offset", "$$timestamp")


@pytest.fixture
def catalog() -> InMemoryCatalog:
    """One in this process, which holds no views."""
    catalog = fresh_catalog()
    catalog.create_namespace("shop")
    return catalog


@pytest.fixture
def table(catalog: InMemoryCatalog) -> Table:
    kinds = (LongType(), StringType(), LongType(), LongType(), LongType())
    fields = (
        NestedField(i, name, kind) for i, (name, kind) in enumerate(zip(COLUMNS, kinds, strict=True), 1)
    )
    return catalog.create_table("shop.orders", Schema(*fields))


def test_each_view_has_the_sql_of_spark_and_where_it_is_known_how_trino_calls_the_catalog_of_trino(
    table: Table, tmp_path: Path
) -> None:
    file = tmp_path / "berlin.sql"
    file.write_text("SELECT o.id FROM {table} AS o JOIN {cities} USING (city);\n")
    spec = TableSpec(topic="orders", current_by=("id",), publish=("views",), views={"berlin": file})

    clean, current, own = wanted_views(spec, table, Settings(rest={"trino_catalog": "lake"}))
    (alone, *_) = wanted_views(spec, table, Settings())

    assert clean.queries == {
        "spark": "SELECT `id`, `city` FROM `orders`",
        "trino": 'SELECT "id", "city" FROM "lake"."shop"."orders"',
    }
    assert [field.name for field in clean.schema.fields] == ["id", "city"] if clean.schema else False
    assert 'FROM "lake"."shop"."orders"' in current.queries["trino"]
    assert own.queries == {"spark": "SELECT o.id FROM `orders` AS o JOIN `cities` USING (city)"}
    assert list(alone.queries) == ["spark"]
    assert view_names(spec, TABLE) == ("orders_clean", "orders_current", "orders_berlin")


@pytest.mark.parametrize(
    ("views", "publish", "message"),
    [
        ({"Berlin": "a.sql"}, ["views"], "use lower-case letters"),
        ({"_dead_letters": "a.sql"}, ["views"], "use lower-case letters"),
        ({"current": "a.sql"}, ["views"], "Frazil makes the view of that name itself"),
        ({"berlin": "a.sql"}, ["glue"], r"write publish: \[glue, views\]"),
    ],
)
def test_a_view_that_can_not_be_is_a_mistake_of_the_spec(
    views: dict[str, str], publish: list[str], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        TableSpec(topic="orders", views=views, publish=publish)


@pytest.mark.parametrize(
    ("fields", "catalog", "message"),
    [
        ("publish: [views]", "glue", "defs.yaml:4: publish: views: Glue holds no Iceberg views"),
        ("publish: [views], mode: tableflow", "rest", "the catalog is Tableflow's"),
        ("publish: [views], views: {a: none.sql}", "rest", "there is no file"),
        (
            "publish: [views]}\n    - {topic: orders_clean",
            "rest",
            "iceberg/local/orders_clean is there already",
        ),
    ],
)
def test_views_that_no_catalog_can_hold_are_refused_with_their_line(
    tmp_path: Path, fields: str, catalog: str, message: str
) -> None:
    head = "type: assets.topic_tables.TopicTables\nattributes:\n  tables:\n"
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/defs.yaml").write_text(f"{head}    - {{topic: orders, {fields}}}\n")

    with pytest.raises(SpecError) as refused:
        load_pipelines([tmp_path], Settings(catalog=catalog)).all()

    assert message in str(refused.value)
    if "`publish`" in refused.value.todo:
        (tmp_path / "shop/defs.yaml").write_text(f"{head}    - {{topic: orders, publish: []}}\n")
        assert load_pipelines([tmp_path], Settings(catalog=catalog)).all()


def test_a_catalog_without_views_says_so_and_nothing_is_made(catalog: InMemoryCatalog, table: Table) -> None:
    views_held = HeldViews(TableHandle(catalog, TABLE))
    (clean,) = wanted_views(TableSpec(topic="orders"), table, Settings())

    with pytest.raises(ConfigureError, match="holds no views"):
        views_held.keep(clean, table.schema(), "")

    assert views_held.own() == {}
    assert targets_of(TableSpec(topic="orders", publish=()), Settings()) == ()
