"""The columns that a query makes: their types, and the columns of its inputs that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from frazil.derive.queries.query import ERROR_COLUMN, Mistake, Query, refusal
from frazil.derive.queries.scopes import ALL, Output, Scope, Source, nearest, repeated
from frazil.derive.queries.syntax import cte_of, input_name, is_moment, names_of, start_of, windows_of
from frazil.derive.queries.types import UNKNOWN, Named, element, type_of, wider
from frazil.spec.derived import Parameter

Column = tuple[str, str]
"""A column's name and its type, as Spark writes it."""

Tables = Mapping[str, Sequence[Column] | None]
"""The columns of a query's inputs, by the names that it has for them; None, or missing: not known."""


def typed(
    query: Query, tables: Tables, parameters: Mapping[str, Parameter] | None = None
) -> tuple[Column, ...]:
    """The columns of a query's output; of type `unknown` where only Spark can tell it.

    Where it takes all columns of an unknown table, `*` stands for them.

    Raises:
        SpecError: It names a column that no input has.
    """
    kinds = {name: _of_value(value) for name, value in (parameters or {}).items()}
    return tuple((c.name, c.kind) for c in _outputs(query, tables, kinds))


def _of_value(value: Parameter) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "int" if -(2**31) <= value < 2**31 else "bigint"
        case float():
            return "double"
        case str():
            return "string"


def lineage(query: Query, tables: Tables) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """By column of the table, the (input, column) pairs that its values come from.

    Raises:
        SpecError: It names a column that no input has.
    """
    outputs = (column for column in _outputs(query, tables, {}) if column.name != ERROR_COLUMN)
    return {column.name: tuple(sorted(column.origins)) for column in outputs}


def _outputs(query: Query, tables: Tables, parameters: Mapping[str, str]) -> tuple[Output, ...]:
    """The output of a query; `ALL` among it where it takes all columns of an unknown table."""
    reader = _Reader(tables, {"now": "timestamp", **parameters})
    outputs = reader.read(query.tree, None)
    if twice := repeated(column.name for column in outputs):
        reader.mistakes.append((0, f"{', '.join(twice)}: more than once in the output"))
    if reader.mistakes:
        raise refusal(query, reader.mistakes)
    return tuple(outputs)


@dataclass(slots=True)
class _Reader:
    tables: Tables
    parameters: Mapping[str, str]
    mistakes: list[Mistake] = field(default_factory=list)
    named: dict[int, list[Output]] = field(default_factory=dict)

    def read(self, tree: exp.Expr, outer: Scope | None) -> list[Output]:
        """The output of a SELECT, or of several put together."""
        for cte in tree.ctes if isinstance(tree, exp.Query) else ():
            self.named[id(cte)] = _renamed(self.read(cte.this, None), cte)
        if isinstance(tree, exp.Subquery):
            return self.read(tree.this, outer)
        if isinstance(tree, exp.SetOperation):
            return self._together(tree, self.read(tree.left, outer), self.read(tree.right, outer))
        return self._select(tree, outer) if isinstance(tree, exp.Select) else [Output(ALL)]

    def _together(self, tree: exp.SetOperation, one: list[Output], two: list[Output]) -> list[Output]:
        """The first one names the columns, whatever the second calls them."""
        if any(column.name == ALL for column in (*one, *two)):
            return one
        if tree.args.get("by_name"):
            two = [next((c for c in two if c.name.lower() == o.name.lower()), Output(o.name)) for o in one]
        if len(one) != len(two):
            text = f"UNION of {len(one)} columns and {len(two)}: each SELECT needs the same ones"
            self.mistakes.append((start_of(tree.right), text))
        return [
            replace(a, kind=wider(a.kind, b.kind), origins=a.origins | b.origins)
            for a, b in zip(one, two, strict=False)
        ]

    def _select(self, tree: exp.Select, outer: Scope | None) -> list[Output]:
        scope = Scope(list(self._sources(tree, outer)), outer, self.mistakes, _merged(tree))
        for lateral in tree.args.get("laterals") or ():
            scope.sources.append(self._lateral(lateral, scope))
        for part in _before_output(tree):
            self._look_up(part, scope)
        scope.sources += [self._window(function, scope) for function in windows_of(tree)]
        outputs: list[Output] = []
        for item in tree.expressions:
            made = list(self._items(item, scope))
            scope.aliases.update({column.name.lower(): column for column in made})
            outputs += made
        for part in _after_output(tree):
            self._look_up(part, scope)
        return outputs

    def _sources(self, tree: exp.Select, outer: Scope | None) -> Iterator[Source]:
        if start := tree.args.get("from_"):
            yield self._source(start.this, outer)
        for join in tree.args.get("joins") or ():
            yield replace(self._source(join.this, outer), shown=join.kind not in ("SEMI", "ANTI"))

    def _source(self, node: Any, outer: Scope | None) -> Source:
        name, columns, spoken = node.alias_or_name, [Output(ALL)], node.alias_or_name
        if isinstance(node, exp.Subquery):
            columns = self.read(node.this, outer)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            cte, spoken = cte_of(node), input_name(node)
            columns = self.named[id(cte)] if cte else self._input(spoken)
        if node.args.get("pivots") or node.args.get("joins"):
            columns = [Output(ALL)]
        return Source(name, _renamed(columns, node), spoken)

    def _input(self, name: str) -> list[Output]:
        columns = self.tables.get(name)
        if columns is None:
            return [Output(ALL)]
        return [Output(column, kind, frozenset({(name, column)})) for column, kind in columns]

    def _lateral(self, node: exp.Lateral, scope: Scope) -> Source:
        made, explodes = self._made_of(node.this, scope), type(node.this).__name__ == "Explode"
        kind = element(self._type(node.this.this, scope)) if explodes else UNKNOWN
        alias = node.args.get("alias")
        names = [column.name for column in alias.columns] if alias else []
        columns = [Output(name, kind if len(names) == 1 else UNKNOWN, made) for name in names]
        return Source(node.alias, columns or [Output(ALL)], node.alias)

    def _window(self, function: exp.Anonymous, scope: Scope) -> Source:
        """`GROUP BY window(...)` makes a column of that name."""
        column = Output(function.name, self._type(function, scope), self._made_of(function, scope))
        return Source("", [column], function.name, shown=False)

    def _items(self, item: exp.Expr, scope: Scope) -> Iterator[Output]:
        if names_of(item) == (ALL,):
            yield from self._star(item, scope)
            return
        node = item.unalias()
        made, names = self._made_of(node, scope), names_of(item)
        kind = self._type(node, scope) if len(names) == 1 else UNKNOWN
        yield from (Output(name, kind, made) for name in names)

    def _star(self, item: Any, scope: Scope) -> list[Output]:
        """What `*` stands for, without what its EXCEPT leaves out."""
        star = item.this if isinstance(item, exp.Column) else item
        of = [part.name for part in item.parts[:-1]] if isinstance(item, exp.Column) else []
        outputs = scope.every(of, start_of(item))
        for column in star.args.get("except_") or ():
            kept = [output for output in outputs if output.name.lower() != column.name.lower()]
            if len(kept) == len(outputs) and all(output.name != ALL for output in outputs):
                known = [output.name for output in outputs]
                self.mistakes.append((start_of(column), f"{column.name}: {nearest(column.name, known)}"))
            outputs = kept
        return outputs

    def _made_of(self, node: exp.Expr, scope: Scope) -> frozenset[tuple[str, str]]:
        return frozenset(origin for output in self._look_up(node, scope) for origin in output.origins)

    def _look_up(self, node: exp.Expr, scope: Scope) -> list[Output]:
        """All that an expression names, the output of queries in it included."""
        outputs: list[Output] = []
        for part in node.walk(prune=lambda part: isinstance(part, exp.Query | exp.Column)):
            if isinstance(part, exp.Query):
                outputs += self.read(part, scope)
            elif isinstance(part, exp.Star) and isinstance(part.parent, exp.Struct):
                outputs += self._star(part, scope)
            elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                outputs.append(scope.find([step.name for step in part.parts], start_of(part)))
            elif isinstance(part, exp.Literal) and is_moment(part) and self._beside_time(part, scope):
                why = f"{part.sql()}: beside a time it is the clock; write :now"
                self.mistakes.append((start_of(part), why))
        return outputs

    def _beside_time(self, node: exp.Expr, scope: Scope) -> bool:
        others = node.parent.iter_expressions() if node.parent else ()
        return any(self._type(other, scope).startswith(("date", "timestamp")) for other in others)

    def _type(self, node: exp.Expr, scope: Scope) -> str:
        silent = replace(scope, mistakes=[])

        def of_column(column: exp.Column) -> str:
            return silent.find([step.name for step in column.parts], 0).kind

        return type_of(node, Named(of_column, lambda name: self.parameters.get(name, UNKNOWN)))


def _before_output(tree: exp.Select) -> Iterator[exp.Expr]:
    """Where columns of the sources are named, but none that the SELECT makes."""
    yield from (on for join in tree.args.get("joins") or () if (on := join.args.get("on")))
    if where := tree.args.get("where"):
        yield where


def _after_output(tree: exp.Select) -> Iterator[exp.Expr]:
    """Where columns that the SELECT makes may be named, too."""
    for word in ("group", "having", "qualify", "order", "sort", "cluster", "distribute", "windows"):
        part = tree.args.get(word)
        yield from part if isinstance(part, list) else [part] if part else []


def _merged(tree: exp.Select) -> frozenset[str]:
    joins = tree.args.get("joins") or ()
    return frozenset(column.name.lower() for join in joins for column in join.args.get("using") or ())


def _renamed(columns: list[Output], node: Any) -> list[Output]:
    """The columns by the names that an alias gives them: `AS t(a, b)`."""
    alias = node.args.get("alias")
    names = [column.name for column in alias.columns] if alias else []
    if not names or len(names) != len(columns):
        return columns
    return [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
