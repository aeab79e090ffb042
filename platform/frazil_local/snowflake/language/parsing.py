"""From SQL text to statements.py, over the tokens of sqlglot's Snowflake dialect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from frazil_local.snowflake.answers import Refused, syntax_error
from frazil_local.snowflake.language.calls import system_call
from frazil_local.snowflake.language.statements import (
    RELATIONS,
    Alter,
    Create,
    Current,
    Describe,
    Drop,
    DropDatabase,
    Grant,
    Kind,
    Name,
    Refresh,
    SetPolicy,
    SetTags,
    Show,
    ShowGrants,
    Statement,
    Use,
)
from frazil_local.snowflake.language.tokens import Tokens, tokens_of

_NOT_SAID: tuple[Kind, ...] = (*RELATIONS, "LINKED DATABASE")
_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in _NOT_SAID)
_CURRENT = ("CURRENT_ROLE", "CURRENT_USER", "CURRENT_WAREHOUSE")


def parse_statement(sql: str) -> Statement | None:
    """The statement, or None if it is one for fakesnow; refuses what begins like ours and can't be read."""
    tokens = tokens_of(sql)
    parse = _PARSERS.get(tokens.word())
    tokens.take(tokens.word())
    statement = parse(tokens) if parse else None
    if statement is not None:
        tokens.expect_end()
    return statement


def parse_relation(sql: str) -> Statement | None:
    """A statement about owners, comments or the session, of which fakesnow keeps no account; or None."""
    tokens = tokens_of(sql)
    if tokens.take("SHOW") and (kind := _kind(tokens, "S", RELATIONS)):
        like = tokens.string() if tokens.take("LIKE") else None
        return Show(kind, like, _scope(tokens)) if tokens.at_end() or tokens.word() == "IN" else None
    if tokens.take("ALTER") and (kind := _kind(tokens, kinds=RELATIONS)):
        if_exists, name = tokens.take("IF", "EXISTS"), tokens.name()
        if tokens.take("SET") and tokens.word() == "COMMENT":
            return Alter(kind, name, assigned=tokens.properties(), if_exists=if_exists)
    if tokens.take("SELECT"):
        return _current(tokens)
    return None


def _current(tokens: Tokens) -> Current | None:
    functions: list[str] = []
    while (function := tokens.word()) in _CURRENT and (tokens.text(1), tokens.text(2)) == ("(", ")"):
        tokens.skip(3)
        functions.append(function)
        if tokens.at_end():
            return Current(tuple(functions))
        if tokens.text() == ",":
            tokens.skip(1)
    return None


def is_merge(sql: str) -> bool:
    """Whether it is a MERGE, as its first word says."""
    try:
        return tokens_of(sql).word() == "MERGE"
    except Refused:
        return False


def _create(tokens: Tokens) -> Statement | None:
    or_replace = tokens.take("OR", "REPLACE")
    if tokens.take("DATABASE"):
        return _create_linked(tokens, or_replace=or_replace)
    kind = _kind(tokens)
    if kind is None:
        return None
    if_not_exists = tokens.take("IF", "NOT", "EXISTS")
    name = tokens.name()
    if kind == "MASKING POLICY":
        tokens.skip_all()  # nothing is masked here
        return Create(kind, name, {}, or_replace, if_not_exists)
    tokens.take("WITH")
    return Create(kind, name, tokens.properties(), or_replace, if_not_exists)


def _create_linked(tokens: Tokens, *, or_replace: bool) -> Statement | None:
    """A catalog-linked database; any other is for fakesnow."""
    if_not_exists = tokens.take("IF", "NOT", "EXISTS")
    name = tokens.name()
    if tokens.word() != "LINKED_CATALOG":
        return None
    return Create("LINKED DATABASE", name, tokens.properties(), or_replace, if_not_exists)


def _alter(tokens: Tokens) -> Statement | None:
    kind = _kind(tokens)
    if kind is None:
        return None
    if_exists = tokens.take("IF", "EXISTS")
    name = tokens.name()
    if kind == "ICEBERG TABLE" and tokens.take("SET", "TAG"):
        return SetTags(name, tokens.tags())
    if kind == "ICEBERG TABLE" and tokens.take("MODIFY", "COLUMN"):
        return _modify_column(tokens, name)
    if tokens.take("SET"):
        return Alter(kind, name, assigned=tokens.properties(), if_exists=if_exists)
    if tokens.take("UNSET"):
        return Alter(kind, name, unset=tokens.words(), if_exists=if_exists)
    if kind == "ICEBERG TABLE" and tokens.take("REFRESH"):
        return Refresh(name, if_exists)
    raise syntax_error(f"unexpected '{tokens.text()}' in ALTER {kind}.")


def _modify_column(tokens: Tokens, table: Name) -> Statement:
    column = tokens.name()[-1]
    if tokens.take("SET", "TAG"):
        return SetTags(table, tokens.tags(), column)
    if tokens.take("UNSET", "MASKING", "POLICY"):
        return SetPolicy(table, column)
    if tokens.take("SET", "MASKING", "POLICY"):
        policy = tokens.name()
        tokens.take("FORCE")
        return SetPolicy(table, column, policy)
    raise syntax_error(f"unexpected '{tokens.text()}' in MODIFY COLUMN.")


def _drop(tokens: Tokens) -> Statement | None:
    database = tokens.take("DATABASE")
    plain = tokens.take("TABLE")
    kind = "ICEBERG TABLE" if plain else _kind(tokens)
    if kind is None and not database:
        return None
    if_exists = tokens.take("IF", "EXISTS")
    name = tokens.name()
    if not tokens.take("CASCADE"):
        tokens.take("RESTRICT")
    return Drop(kind, name, if_exists, plain) if kind else DropDatabase(name[-1], if_exists)


def _describe(tokens: Tokens) -> Statement | None:
    plain = tokens.take("TABLE")
    kind = "ICEBERG TABLE" if plain else _kind(tokens)
    return Describe(kind, tokens.name(), plain) if kind else None


def _show(tokens: Tokens) -> Statement | None:
    if (future := tokens.take("FUTURE", "GRANTS")) or tokens.take("GRANTS"):
        return _show_grants(tokens, future=future)
    kind = _kind(tokens, plural="S")
    if kind is None:
        return None
    like = tokens.string() if tokens.take("LIKE") else None
    return Show(kind, like, _scope(tokens))


def _scope(tokens: Tokens) -> Name:
    if not tokens.take("IN") or tokens.take("ACCOUNT"):
        return ()
    if not tokens.take("DATABASE"):
        tokens.take("SCHEMA")
    return tokens.name()


def _show_grants(tokens: Tokens, *, future: bool) -> Statement:
    relations: tuple[Literal["TO", "ON", "OF"], ...] = ("TO", "ON", "OF")
    for relation in relations:
        if tokens.take(relation):
            return ShowGrants(relation, tokens.kind_of_object(), tokens.name(), future)
    raise syntax_error("SHOW GRANTS needs TO, ON or OF and a name.")


def _grant(tokens: Tokens, *, revoke: bool = False) -> Statement:
    option = revoke and tokens.take("GRANT", "OPTION", "FOR")
    privileges, on_kind, on_name = _granted(tokens)
    if not tokens.take("FROM" if revoke else "TO"):
        raise syntax_error(f"unexpected '{tokens.text()}' in GRANT.")
    to_kind: Literal["ROLE", "USER"] = "USER" if tokens.take("USER") else "ROLE"
    if to_kind == "ROLE":
        tokens.take("ROLE")
    to_name = tokens.name()[-1]
    if not revoke and tokens.take("WITH", "GRANT", "OPTION"):
        option = True
    elif not tokens.take("COPY", "CURRENT", "GRANTS"):
        tokens.take("REVOKE", "CURRENT", "GRANTS")
    return Grant(privileges, on_kind, on_name, to_kind, to_name, revoke, option)


def _granted(tokens: Tokens) -> tuple[tuple[str, ...], str, Name]:
    if tokens.take("ROLE"):
        return ("USAGE",), "ROLE", tokens.name()
    privileges = tokens.privileges()
    if tokens.take("ACCOUNT"):
        return privileges, "ACCOUNT", ("ACCOUNT",)
    every = next((w for w in ("ALL", "FUTURE") if tokens.take(w)), "")
    kind = tokens.kind_of_object()
    if every:
        kind = f"{every} {kind} IN {tokens.container()}"
    return privileges, kind, tokens.name()


def _use(tokens: Tokens) -> Statement | None:
    if tokens.take("ROLE"):
        return Use("ROLE", tokens.name()[-1])
    return Use("WAREHOUSE", tokens.name()[-1]) if tokens.take("WAREHOUSE") else None


def _kind(tokens: Tokens, plural: str = "", kinds: tuple[Kind, ...] = _KINDS) -> Kind | None:
    for kind in kinds:
        if tokens.take(*f"{kind}{plural}".split()):
            return kind
    return None


_PARSERS: dict[str, Callable[[Tokens], Statement | None]] = {
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "DESC": _describe,
    "DESCRIBE": _describe,
    "SHOW": _show,
    "GRANT": _grant,
    "REVOKE": partial(_grant, revoke=True),
    "USE": _use,
    "SELECT": system_call,
}
