"""Tables whose columns changed, or have odd names."""

from __future__ import annotations

from functools import partial

from pyiceberg.types import DoubleType, LongType

from kit.engines.tables.made import Expected, Feature, Maker, Map, Micros, feature, opt, struct

__all__ = ["SCHEMAS"]

SCHEMAS: list[Feature] = []
of_schemas = partial(feature, SCHEMAS)

BEGUN = {"id": "long", "name": opt("string"), "size": opt("int")}
FIRST = [{"id": 0, "name": "a", "size": 1}, {"id": 1, "name": None, "size": 2}]


@of_schemas("a table without any row")
def empty(maker: Maker) -> Expected:
    made = maker.land(BEGUN, FIRST)
    made.sql("DELETE FROM {t}")
    return made.expected([])


@of_schemas("columns that were added")
def added(maker: Maker) -> Expected:
    made = maker.land(BEGUN, FIRST)
    later = {**BEGUN, "note": opt("string"), "tags": opt({"type": "array", "items": "string"})}
    return made.more([{"id": 2, "name": "c", "size": 3, "note": "n", "tags": ["x"]}], later).expected()


@of_schemas("fields that were added in a struct, a list and a map", daily=True)
def added_inside(maker: Maker) -> Expected:
    def kinds(**more: object) -> dict[str, object]:
        inner = {"x": "int", **more}
        return {
            "id": "long",
            "one": struct("One", **inner),
            "many": {"type": "array", "items": struct("Many", **inner)},
            "named": {"type": "map", "values": struct("Named", **inner)},
        }

    old = {"id": 0, "one": {"x": 1}, "many": [{"x": 2}], "named": Map(a={"x": 3})}
    new_one = {"x": 4, "y": "new"}
    new = {"id": 1, "one": new_one, "many": [new_one], "named": Map(b=new_one)}
    made = maker.land(kinds(), [old]).more([new], kinds(y=opt("string")))
    null = {"y": None}
    wide = {
        "id": 0, "one": {"x": 1, **null}, "many": [{"x": 2, **null}], "named": Map(a={"x": 3, **null}),
    }  # fmt: skip
    return made.expected([wide, new])


@of_schemas("columns that became wider: `int` to `long`, `float` to `double`")
def widened(maker: Maker) -> Expected:
    made = maker.land({"id": "long", "n": "int", "f": "float"}, [{"id": 0, "n": -1, "f": 1.5}])
    return made.more([{"id": 1, "n": 2**40, "f": 0.1}], {"id": "long", "n": "long", "f": "double"}).expected()


@of_schemas("a column that was renamed")
def renamed(maker: Maker) -> Expected:
    made = maker.land(BEGUN, FIRST)
    with made.table.update_schema() as update:
        update.rename_column("name", "title")
    made.sql("INSERT INTO {t} (id, title, size) VALUES (2, 'c', 3)")
    rows = [{"id": r["id"], "title": r["name"], "size": r["size"]} for r in FIRST]
    return made.expected([*rows, {"id": 2, "title": "c", "size": 3}], ["id", "title", "size"])


@of_schemas("two columns that took each other's names")
def swapped(maker: Maker) -> Expected:
    made = maker.land({"id": "long", "a": opt("string"), "b": opt("string")}, [{"id": 0, "a": "A", "b": "B"}])
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        with made.table.update_schema() as update:
            update.rename_column(old, new)
    return made.expected([{"id": 0, "a": "B"}], ["id", "a"])


@of_schemas("a column that was dropped, and one of its name that came later", daily=True)
def dropped(maker: Maker) -> Expected:
    made = maker.land(BEGUN, FIRST)
    with made.table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("size")
    with made.table.update_schema() as update:
        update.add_column("size", LongType())
    made.sql("INSERT INTO {t} (id, name, size) VALUES (2, 'c', 5000000000)")
    rows = [{**r, "size": None} for r in FIRST]
    return made.expected([*rows, {"id": 2, "name": "c", "size": 5_000_000_000}])


@of_schemas("columns that were moved")
def moved(maker: Maker) -> Expected:
    made = maker.land({"id": "long", "a": "int", "b": "int"}, [{"id": 0, "a": 1, "b": 2}])
    with made.table.update_schema() as update:
        update.move_first("b")
    return made.more([{"id": 1, "a": 3, "b": 4}]).expected()


@of_schemas("a field of a struct that was renamed, and one that was dropped")
def renamed_inside(maker: Maker) -> Expected:
    made = maker.land(
        {"id": "long", "one": struct("One", x="int", y=opt("string"), z=opt("int"))},
        [{"id": 0, "one": {"x": 1, "y": "a", "z": 3}}],
    )
    with made.table.update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("one.y", "text")
        update.delete_column("one.z")
        update.add_column(("one", "more"), DoubleType())
    return made.expected([{"id": 0, "one": {"x": 1, "text": "a", "more": None}}])


ODD = ("a.b", "Ünïcode", "select", "camelCase", "with-dash", 'quo"te', "$sign", "1st", "semi;colon")


@of_schemas("odd names: with dots, quotes, umlauts, capitals; words of SQL", daily=True)
def odd_names(maker: Maker) -> Expected:
    kinds = {"id": "integer", **dict.fromkeys(ODD, "string")}
    rows = [{"id": n, **{name: f"{name}{n}" for name in ODD}} for n in range(2)]
    return maker.land_json(kinds, rows).expected()


@of_schemas("the metadata columns, `$$offset` and the others")
def metadata_columns(maker: Maker) -> Expected:
    given = {"timestamp": 1_760_000_000_123, "plain": "offsets are exact"}
    made = maker.empty({"id": "long"}, metadata="full").more([{"id": 0}, {"id": 1}], **given)
    topic = made.source.spec.topic
    at = Micros(1_760_000_000_123_000)
    rows = [
        {"id": n, "$$topic": topic, "$$partition": 0, "$$offset": n, "$$timestamp": at,
         "$$timestamp-type": "CREATE_TIME", "$$raw-key": None}
        for n in range(2)
    ]  # fmt: skip
    return made.expected(rows, [*rows[0]])
