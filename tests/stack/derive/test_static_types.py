from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest
from pyspark.errors import AnalysisException

from frazil.connections import Connections
from frazil.derive.queries.check import stored_columns
from frazil.derive.queries.columns import Column, typed
from frazil.derive.queries.query import parse_query, read_query
from frazil.derive.queries.types import UNKNOWN
from frazil.derive.tables import known_tables
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from kit.derived.query_cases import PARAMETERS, RIGHT, TABLES, WRONG
from kit.derived.typed_queries import by_spark

TRADES = (
    ("symbol", "string"),
    ("quantity", "int"),
    ("price", "int"),
    ("volume", "bigint"),
    ("amount", "decimal(10,2)"),
    ("fee", "decimal(38,10)"),
    ("weight", "float"),
    ("ratio", "double"),
    ("$$timestamp", "timestamp"),
    ("local", "timestamp_ntz"),
    ("day", "date"),
    ("raw", "binary"),
    ("address", "struct<`city`:string,`geo`:struct<`lat`:double>>"),
    ("tags", "map<string,int>"),
    ("items", "array<struct<`sku`:string,`n`:int>>"),
)

KNOWN = {name: columns for name, columns in TABLES.items() if columns}

NUMBERS = """
quantity * price; quantity + volume; quantity / price; quantity % 7; -price; abs(volume); quantity - 1;
price div 2; amount * 2; amount * price; amount / 3; amount / quantity; amount + 1.5; 0.05 * price;
amount * amount; fee * fee; fee / amount; fee + amount; amount % 3; amount - volume; ratio * price;
weight + weight; weight / weight; weight * ratio; amount * ratio; 12345678901; 1e3; 0.001; 12.50;
coalesce(price, volume); coalesce(amount, 0); coalesce(amount, fee); if(price > 1, price, amount);
greatest(price, volume); nullif(price, 0); floor(ratio); length(symbol); mod(price, 3); -amount;
price * 10000000000; CASE WHEN price > 1 THEN 1 WHEN price > 0 THEN amount ELSE NULL END; amount + quantity;
sqrt(price)
"""
TIMES = """
date_trunc('MINUTE', `$$timestamp`); date_trunc('DAY', local); `$$timestamp` + INTERVAL 1 MINUTE; year(day);
local - INTERVAL 2 HOURS; try_to_timestamp(symbol, 'yyyy'); to_timestamp(symbol, 'yyyy'); to_date(symbol);
to_timestamp(symbol); timestampdiff(MINUTE, local, local); datediff(day, day); date_add(day, 1); :now;
unix_timestamp(`$$timestamp`); unix_millis(`$$timestamp`); coalesce(day, `$$timestamp`); last_day(day);
date_format(day, 'yyyy'); timestamp_millis(volume); CAST(symbol AS TIMESTAMP);
CAST(symbol AS TIMESTAMP_NTZ); datediff(DAY, day, day); trunc(day, 'MM'); hour(local);
from_utc_timestamp(`$$timestamp`, 'UTC'); to_timestamp_ntz(symbol);
(unix_timestamp(`$$timestamp`) - unix_timestamp(local)) div 60; date_sub(day, 1); add_months(day, 1);
minute(local); from_unixtime(volume); timestampadd(HOUR, 1, local); extract(HOUR FROM local);
make_date(2020, 1, 1)
"""
OTHERS = """
to_json(struct(*)); struct(price, symbol AS s); address.city; address.geo.lat; tags['a']; items[0].n;
items.sku; price > 1 AND NOT symbol LIKE 'a%'; symbol IN ('a', 'b'); upper(symbol) || 'x';
concat('a', symbol); substring(symbol, 1, 2); CAST(price AS DECIMAL(12, 4)); CAST(symbol AS BIGINT);
symbol::int; md5(raw); :large; CASE symbol WHEN 'a' THEN 'A' ELSE 'B' END; named_struct('a', price);
price IS NULL; regexp_replace(symbol, 'a', 'b'); CASE WHEN price < 0 THEN 'bad' END;
coalesce(symbol, 'none'); element_at(tags, 'a'); concat_ws('-', symbol); hash(symbol); xxhash64(symbol);
lpad(symbol, 3, 'x'); startswith(symbol, 'a'); address; items; tags; TRUE; CAST(NULL AS STRING);
trim(symbol); replace(symbol, 'a'); hex(raw); base64(raw); get_json_object(symbol, '$.a');
split(symbol, ','); size(items); tags.a; concat(raw, raw); CAST(price AS SMALLINT)
"""
FUNCTIONS = """
initcap(symbol); typeof(price); translate(symbol, 'a', 'b'); repeat(symbol, 2); rtrim(symbol);
lower(symbol); regexp_extract(symbol, 'a', 0); format_string('%s', symbol); sha2(raw, 256);
rpad(symbol, 3, 'x'); replace(symbol, 'a'); endswith(symbol, 'a'); contains(symbol, 'a');
array_contains(split(symbol, 'a'), 'b'); isnull(price); isnotnull(price); is_valid_utf8(symbol);
price BETWEEN 1 AND 2; symbol RLIKE 'a'; symbol ILIKE 'a'; price <=> 1; price IS DISTINCT FROM 1;
exists(items, i -> i.n > 1); any(price > 1) OVER (ORDER BY price); timestamp_seconds(volume);
timestamp_micros(volume); to_utc_timestamp(local, 'UTC'); from_utc_timestamp(symbol, 'UTC');
date_from_unix_date(price); DATE'2020-01-01'; TIMESTAMP'2020-01-01 00:00:00'; dayofmonth(day);
dayofweek(day); weekofyear(day); quarter(day); weekday(day); unix_date(day); ascii(symbol); month(local);
second(local); day(day); instr(symbol, 'a'); position('a' IN symbol); octet_length(symbol);
unix_micros(`$$timestamp`); crc32(raw); unix_seconds(`$$timestamp`); unix_timestamp(symbol, 'yyyy');
approx_count_distinct(price) OVER (); X'00'; unhex(symbol); unbase64(symbol); encode(symbol, 'utf-8');
pow(price, 2); ln(price); exp(price); NULL; date_trunc('HOUR', day); trunc(`$$timestamp`, 'MM');
to_date(symbol, 'yyyy'); localtimestamp(); TRUE AND price > 1 OR FALSE; ifnull(symbol, 'a');
nvl(price, volume); CAST(raw AS STRING); CAST(amount AS DOUBLE); CAST(price AS TINYINT);
try_cast(symbol AS DATE); CASE WHEN price > 1 THEN day ELSE `$$timestamp` END; address.geo; items[0];
-ratio; (price); weight * price
"""
TOTALS = """
count(*); count(DISTINCT symbol); sum(price); sum(volume); sum(amount); sum(fee); sum(ratio); sum(weight);
sum(price * quantity); avg(price); avg(amount); avg(fee); min(symbol); max(`$$timestamp`);
bool_or(price > 1); count_if(price > 1); sum(price) FILTER (WHERE price > 1); max(amount); every(price > 1);
max_by(symbol, price); sum(amount * price); first(day); collect_list(price); sum(coalesce(price, 0));
any_value(local)
"""


@pytest.mark.parametrize(
    "expressions",
    [NUMBERS, TIMES, OTHERS, FUNCTIONS, TOTALS],
    ids=["numbers", "times", "others", "functions", "totals"],
)
def test_types_that_are_told_without_spark_are_those_that_spark_tells(
    expressions: str, connections: Connections, fresh_name: str
) -> None:
    items = [item.strip() for item in expressions.split(";")]
    text = ",\n".join(f"{item} AS c{i}" for i, item in enumerate(items))
    query = parse_query(f"SELECT {text} FROM trades", "types.sql")
    values = {"large": 4000} if "large" in query.parameters else {}

    kinds = typed(query, {"trades": TRADES}, values)
    spark = by_spark(connections.spark, query, {"trades": TRADES}, values, fresh_name)

    wrong = [
        (item, a, b) for item, (_, a), (_, b) in zip(items, kinds, spark, strict=True) if not agree(a, b)
    ]
    untold = [item for item, (_, kind) in zip(items, kinds, strict=True) if kind == UNKNOWN]
    assert wrong == []
    assert len(untold) <= len(items) // 8, untold


@pytest.mark.nightly
def test_columns_of_whole_queries_are_those_of_spark(connections: Connections, fresh_name: str) -> None:
    for text, expected in RIGHT:
        query = parse_query(text, "q.sql")
        if all(TABLES[name] for name in query.inputs):
            values = {name: PARAMETERS[name] for name in query.parameters}
            spark = dict(by_spark(connections.spark, query, KNOWN, values, fresh_name))
            assert all(agree(kind, spark[name]) for name, kind in expected.items()), text


def test_spark_refuses_what_is_refused_without_it(connections: Connections, fresh_name: str) -> None:
    taken = []
    for text, _ in WRONG:
        query = parse_query(text, "q.sql")
        with suppress(AnalysisException):
            taken.append((text, by_spark(connections.spark, query, KNOWN, {}, fresh_name)))

    assert taken == []


def test_every_query_of_the_pipelines_gives_the_columns_that_were_told(
    connections: Connections, fresh_name: str
) -> None:
    settings = Settings()
    tables = known_tables(load_pipelines(pipeline_folders(settings), settings), settings)
    known = tables.columns

    for spec in (spec for spec in tables.derived if spec.sql):
        query, name = read_query(spec), things(spec, settings).table
        inputs = {text: known[TableName.parse(text, name.namespace)] or () for text in query.inputs}
        spark = stored_columns(by_spark(connections.spark, query, inputs, spec.parameters, fresh_name))
        assert as_spark_writes(known[name]) == spark, name


def as_spark_writes(columns: Sequence[Column] | None) -> list[Column]:
    return [(name, kind.replace("`", "")) for name, kind in columns or ()]


def agree(kind: str, spark: str) -> bool:
    return kind == UNKNOWN or kind.replace("`", "") == spark
