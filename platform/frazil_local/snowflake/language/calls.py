"""SELECT of Snowflake's system functions, which fakesnow does not know."""

from __future__ import annotations

from sqlglot import TokenType

from frazil_local.snowflake.answers import syntax_error
from frazil_local.snowflake.language.histories import refresh_histories
from frazil_local.snowflake.language.statements import Call, Calls, GetTags, Name, Refreshes, Statement
from frazil_local.snowflake.language.tokens import Tokens, parse_name

_SYSTEM_FUNCTIONS = (
    "SYSTEM$VERIFY_EXTERNAL_VOLUME",
    "SYSTEM$VERIFY_CATALOG_INTEGRATION",
    "SYSTEM$GET_ICEBERG_TABLE_INFORMATION",
    "SYSTEM$CATALOG_LINK_STATUS",
)
_GET_TAG = "SYSTEM$GET_TAG"


def system_call(tokens: Tokens) -> Statement | None:
    """A SELECT of system functions alone; None if it is one for fakesnow."""
    function = tokens.word()
    if function == _GET_TAG:
        return _get_tags(tokens)
    if histories := refresh_histories(tokens):
        return Refreshes(tuple((place, parse_name(table)) for place, table in histories))
    if function not in _SYSTEM_FUNCTIONS:
        return None
    calls = [_call(tokens)]
    while tokens.text() == "," and tokens.word(1) in _SYSTEM_FUNCTIONS:
        tokens.skip(1)
        calls.append(_call(tokens))
    counted = _count_beside(tokens)
    return Calls(tuple(calls), counted) if counted or len(calls) > 1 else calls[0]


def _call(tokens: Tokens) -> Call:
    function = tokens.word()
    tokens.take(function)
    tokens.expect(TokenType.L_PAREN)
    argument = tokens.string()
    tokens.expect(TokenType.R_PAREN)
    aliased = tokens.take("AS") or not (tokens.at_end() or tokens.text() == ",")
    return Call(function, argument, tokens.name()[-1] if aliased else f"{function}('{argument}')")


def _count_beside(tokens: Tokens) -> Name:
    """The table of `, (SELECT COUNT(*) FROM table)`; empty where nothing follows."""
    if tokens.text() != ",":
        return ()
    tokens.expect_texts(",", "(", "SELECT", "COUNT", "(", "*", ")", "FROM")
    name = tokens.name()
    tokens.expect(TokenType.R_PAREN)
    return name


def _get_tags(tokens: Tokens) -> GetTags:
    asked: list[tuple[Name, Name, str]] = []
    while tokens.take(_GET_TAG):
        tokens.expect(TokenType.L_PAREN)
        tag = parse_name(tokens.string())
        tokens.expect(TokenType.COMMA)
        table = parse_name(tokens.string())
        tokens.expect(TokenType.COMMA)
        domain = tokens.string().upper()
        if domain not in ("TABLE", "COLUMN"):
            raise syntax_error(f"{_GET_TAG} of a {domain} is not known here.")
        tokens.expect(TokenType.R_PAREN)
        asked.append((tag, table, "") if domain == "TABLE" else (tag, table[:-1], table[-1]))
        if not tokens.at_end():
            tokens.expect(TokenType.COMMA)
    return GetTags(tuple(asked))
