"""Names of topics, tables and columns are anyone's: they are refused, or stand for themselves alone."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.dialects.spark import Spark

from frazil.derive.queries.types import fields
from frazil.formats.avro.schemas.written import avro_name
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.types import spark_type
from frazil.publishing.snowflake.statements import Relation, text
from frazil.publishing.targets import TARGETS
from frazil.quoting import double_quoted, literal, quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, subject_name, things
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import spark_name
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator

_LEGAL = re.compile(r"[a-z0-9_]+")


def name(mutator: Mutator) -> str:
    """A name of one of the kinds that are never met, or a broken one that is."""
    words = (mutator.word(), mutator.text("stock_trades"), mutator.text("a.b`c\"d'e\\"))
    return mutator.random.choice(words)


def tokens(dialect: Any, sql: str) -> list[str]:
    return [token.text for token in dialect.tokenize(sql)]


def test_any_name_is_one_word_of_sql() -> None:
    def stand(given: str) -> None:
        relation = str(Relation(given, given, given))
        if given:
            assert tokens(Spark(), quoted(given)) == [given]
            assert tokens(Spark(), spark_name(TableName(given, given)))[2::2] == [given, given]
            assert tokens(Snowflake(), double_quoted(given)) == [given]
            assert tokens(Snowflake(), relation) == [given, ".", given, ".", given]
            assert tokens(Snowflake(), text(given)) == [given]
            assert tokens(Spark(), literal(given)) == [given]

    assert fuzz("names in sql", name, stand)


def test_any_name_of_a_column_stays_one_column() -> None:
    def stand(given: str) -> None:
        kind = spark_type(Struct((Field(given, Primitive("long")), Field("b", Primitive("string")))))
        assert not given or fields(kind) == {given: "bigint", "b": "string"}

    assert fuzz("names of columns", name, stand)


def test_any_name_becomes_one_that_catalogs_take_or_is_refused() -> None:
    settings = Settings()

    def spec(mutator: Mutator) -> dict[str, Any]:
        known = {"topic": "t", "table": "t", "namespace": "n", "record_type": "R", "other_types": ["A"]}
        words = {word: name(mutator) for word in mutator.random.sample(sorted(known), 2)}
        others = {"other_types": [words["other_types"]]} if "other_types" in words else {}
        return {**known, "subject_names": "record", **words, **others}

    def take(given: dict[str, Any]) -> None:
        try:
            made = TableSpec.model_validate(given)
        except ValidationError:
            return
        names = things(made, settings)
        assert all(map(_LEGAL.fullmatch, names.table.identifier))
        assert subject_name(made, "key") == f"{made.topic}-key"
        assert [target(made, settings).path for target in TARGETS.values()]

    assert fuzz("names of tables", spec, take)


def test_any_name_on_the_command_line_is_a_table_or_refused() -> None:
    assert fuzz("names of commands", name, lambda given: TableName.parse(given, "n"))


def test_any_name_becomes_one_that_avro_takes() -> None:
    def take(given: str) -> None:
        assert not given or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", avro_name(given))

    assert fuzz("names in avro", name, take)
