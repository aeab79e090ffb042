"""A query, read: the tables and parameters that it names, its columns, and itself over other views."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from frazil.derive.queries.syntax import (
    branches,
    input_name,
    input_tables,
    is_deep,
    names_of,
    output_of,
    parameters_of,
    parsed,
    start_of,
    words_of,
)
from frazil.errors import MALFORMED, SpecError
from frazil.formats.columns.names import keeper
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec

ERROR_COLUMN = "$$error"
"""A column that says what is wrong with its row; such rows are no rows of the table."""

NOW = "now"
"""The parameter that Frazil fills: the time of the run."""

_DEEPEST = 200
"""Most levels of a query: each takes several of the 1,000 calls that Python allows within each other."""

Mistake = tuple[int, str]
"""Where in the text, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT and what can be said of it without knowing any table."""

    text: str
    where: str
    inputs: tuple[str, ...]  # the tables that it reads, as written: `table` or `ns.table`
    columns: tuple[str, ...]  # names of its output; `*` where it takes all columns of a table
    parameters: tuple[str, ...]  # what it names as `:name`, without `:now`
    uses_now: bool  # whether it names `:now`
    fingerprint: str  # the same for texts that differ in blanks, comments and upper case of words only
    tree: exp.Query = field(repr=False, compare=False)  # the text, parsed; to be copied before it is changed
    mistakes: tuple[Mistake, ...] = ()  # what no table's columns could mend

    def sql_over(self, views: Mapping[str, str]) -> str:
        """The text with each of `inputs` replaced by a view, as Spark's SQL names it."""
        text, end, parts = self.text, 0, []
        for table in sorted(input_tables(self.tree), key=start_of):
            parts += [text[end : start_of(table)], views[input_name(table)]]
            parts += [] if table.alias else [f" AS {quoted(table.name)}"]
            end = int(table.this.meta["end"]) + 1
        return "".join([*parts, text[end:]])

    def place(self, start: int) -> str:
        """`file:line:column` of a place in the text."""
        before = self.text[:start]
        return f"{self.where}:{before.count(chr(10)) + 1}:{start - before.rfind(chr(10))}"


def read_query(spec: DerivedSpec, *, refuse: bool = True) -> Query:
    """The query of a table that has one; not `refuse`: also one with mistakes, if it is one SELECT.

    Raises:
        SpecError: The file can't be read, or is no query that Frazil takes.
    """
    if spec.sql is None:
        raise SpecError(f"{spec.table}: it is made by {spec.python}, not by a query")
    try:
        text = spec.sql.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SpecError(f"{spec.sql}: can't be read: {e}") from None
    return parse_query(text, str(spec.sql), refuse=refuse)


def names_now(spec: DerivedSpec) -> bool:
    """Whether the Python function of a table names the parameter `now`, or seems to.

    Raises:
        SpecError: The file can't be read.
    """
    return re.search(rf"\b{NOW}\b".encode(), function_code(spec)) is not None


def function_code(spec: DerivedSpec) -> bytes:
    """The file of a table's Python function; raises as `names_now` does."""
    assert spec.python
    try:
        return spec.python.read_bytes()
    except OSError as e:
        raise SpecError(f"{spec.python}: can't be read: {e}") from None


def parse_query(text: str, where: str, *, refuse: bool = True) -> Query:
    """Reads one SELECT, in Spark's SQL; `where` is its file, named in errors.

    Raises:
        SpecError: It is no single SELECT, or a column of its output has no name, or another's.
    """
    query = _read(text, where)
    if refuse and query.mistakes:
        raise refusal(query, query.mistakes)
    return query


@lru_cache(maxsize=1024)  # 10 ms each, and definitions that load ask for each one several times
def _read(text: str, where: str) -> Query:
    tree = _parsed(text, where)
    names = [(start_of(item), name) for item in output_of(tree) for name in names_of(item)]
    parameters = [name for _, name in parameters_of(text)]
    tables = list(input_tables(tree))
    query = Query(
        text=text,
        where=where,
        inputs=tuple(dict.fromkeys(map(input_name, tables))),
        columns=tuple(name for _, name in names),
        parameters=tuple(dict.fromkeys(name for name in parameters if name != NOW)),
        uses_now=NOW in parameters,
        fingerprint=_fingerprint(text),
        tree=tree,
    )
    mistakes = (*_nameless(names), *_odd_inputs(query, tables), *_odd_parts(tree))
    return replace(query, mistakes=mistakes) if mistakes else query


def refusal(query: Query, mistakes: Sequence[Mistake]) -> SpecError:
    """All mistakes of one query, in the order of their places."""
    lines = [f"{query.place(start)}: {text}" for start, text in sorted(set(mistakes))]
    return SpecError("\n".join(lines), todo="Fix the query; nothing was started.")


def _parsed(text: str, where: str) -> exp.Query:
    try:
        trees = parsed(text)
    except ParseError as e:
        first = e.errors[0]
        place = f"{where}:{first['line']}:{first['col']}"
        raise SpecError(f"{place}: {_spoken(first['description'])}: {first['highlight']!r}") from None
    except RecursionError:
        deep = "it is nested too deeply to be read; move inner parts into a WITH, or into another table"
        raise SpecError(f"{where}:1: {deep}") from None
    except (TokenError, *MALFORMED) as e:
        # TokenError alone is meant: the others are sqlglot 30's own slips over odd arguments, as of map(a).
        raise SpecError(f"{where}:1: this is no SQL: {e}") from None
    if any(is_deep(tree, _DEEPEST) for tree in trees):
        raise SpecError(f"{where}:1: it is nested more than {_DEEPEST} levels deep")
    if len(trees) != 1 or not all(isinstance(b, exp.Select) for b in branches(trees[0])):
        raise SpecError(f"{where}:1: one SELECT is expected here, and nothing else")
    return trees[0]  # type: ignore[return-value]


def _spoken(description: str) -> str:
    """The parser's words without its classes."""
    return "something is missing" if "<class" in description else description.partition(" but got <Token")[0]


def _nameless(names: Sequence[tuple[int, str]]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for start, name in names:
        if not name:
            yield start, "a column without a name: write AS and one"
        elif name != "*" and name.lower() in seen:
            yield start, f"{name}: there is a column of that name already"
        elif kept := keeper(name):
            yield start, f"{name}: {kept} keeps that name for itself; write AS and another one"
        seen.add(name.lower())


def _odd_inputs(query: Query, tables: Sequence[exp.Table]) -> Iterator[Mistake]:
    if not tables:
        yield 0, "it reads no table: nothing would ever make a row of it"
    for table in tables:
        at, name = start_of(table), input_name(table)
        if len(table.parts) > 2:
            yield at, f"{name}: write table, or namespace.table"
        if table.args.get("version") or table.args.get("sample"):
            yield at, f"{name}: Frazil says which of its rows are read; drop what follows"
    long_names = {input_name(table) for table in tables if table.db}
    for column in query.tree.find_all(exp.Column):
        if f"{column.db}.{column.table}" in long_names:
            yield start_of(column), f"{column.db}.{column.table}: write {column.table}.{column.name}"


def _odd_parts(tree: exp.Query) -> Iterator[Mistake]:
    for part in tree.find_all(exp.With, exp.Select):
        if isinstance(part, exp.With) and part.recursive:
            yield start_of(part), "WITH RECURSIVE is not taken"
        if isinstance(part, exp.Select) and not part.expressions:
            yield start_of(part), "a SELECT of no column"


def _fingerprint(text: str) -> str:
    return hashlib.sha256(" ".join(words_of(text)).encode(errors="surrogatepass")).hexdigest()[:16]
