"""A reading position in the tokens of one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from sqlglot import TokenType
from sqlglot.dialects import Snowflake
from sqlglot.errors import TokenError

from frazil_local.snowflake.answers import Refused, syntax_error
from frazil_local.snowflake.language.statements import Name, Properties, Value

T = TypeVar("T")

_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)
_PUNCTUATION = (
    TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA,
    TokenType.EQ, TokenType.DOT, TokenType.SEMICOLON,
)  # fmt: skip
_TWO_WORDS = (
    "EXTERNAL VOLUME", "CATALOG INTEGRATION", "SECURITY INTEGRATION", "ICEBERG TABLE", "ICEBERG TABLES",
    "MASKING POLICY",
)  # fmt: skip


class Tokens:
    """Takes what is expected next from sqlglot's tokens, and says what it found instead."""

    def __init__(self, tokens: Sequence[Any]) -> None:
        self._tokens = list(tokens)
        self._next = 0

    def text(self, ahead: int = 0) -> str:
        """The text of a token to come, empty at the end."""
        token = self._peek(ahead)
        return token.text if token else ""

    def word(self, ahead: int = 0) -> str:
        """The next unquoted word in upper case; empty if the next token is anything else."""
        token = self._peek(ahead)
        quoted = token is None or token.token_type in (TokenType.IDENTIFIER, *_STRINGS)
        return "" if quoted else self.text(ahead).upper()

    def take(self, *words: str) -> bool:
        """Steps over these words if they come next, else stays."""
        matches = all(self.word(i) == word for i, word in enumerate(words))
        self._next += len(words) if matches else 0
        return matches

    def skip(self, count: int) -> None:
        """Steps over tokens that were looked at."""
        self._next += count

    def skip_all(self) -> None:
        """Steps over the rest."""
        self._next = len(self._tokens)

    def at_end(self) -> bool:
        """Nothing but a semicolon is left."""
        rest = self._tokens[self._next :]
        return all(token.token_type == TokenType.SEMICOLON for token in rest)

    def expect_end(self) -> None:
        """Refuses what follows the statement."""
        if not self.at_end():
            raise self._unexpected()

    def expect(self, kind: TokenType) -> None:
        """Steps over a punctuation mark that must come next."""
        if not self._take_mark(kind):
            raise self._unexpected()

    def expect_texts(self, *texts: str) -> None:
        """Steps over words and marks that must come next, in capitals."""
        for text in texts:
            if self.text().upper() != text:
                raise syntax_error(f"unexpected '{self.text()}', expected {text}.")
            self.skip(1)

    def string(self) -> str:
        """A string that must come next."""
        token = self._peek(0)
        if token is None or token.token_type not in _STRINGS:
            raise self._unexpected()
        self._next += 1
        return str(token.text)

    def name(self) -> Name:
        """A name of one or more parts that must come next."""
        parts = [self._name_part()]
        while self._take_mark(TokenType.DOT):
            parts.append(self._name_part())
        return tuple(parts)

    def words(self) -> tuple[str, ...]:
        """The words to the end, commas between them or not."""
        return tuple(self._listed(self._word))

    def privileges(self) -> tuple[str, ...]:
        """Privileges up to and over the word ON, each of one or more words."""
        privileges: list[list[str]] = [[]]
        while not self.take("ON"):
            if self._take_mark(TokenType.COMMA):
                privileges.append([])
            else:
                privileges[-1].append(self._word())
        return tuple(" ".join(words) for words in privileges)

    def kind_of_object(self) -> str:
        """`DATABASE`, `EXTERNAL VOLUME`, `ICEBERG TABLES` and so on."""
        words = f"{self.word()} {self.word(1)}"
        if words in _TWO_WORDS:
            self.take(*words.split())
            return words
        return self._word()

    def container(self) -> str:
        """`IN SCHEMA` or `IN DATABASE`; answers the second word."""
        if not self.take("IN"):
            raise self._unexpected()
        return self._word()

    def properties(self) -> Properties:
        """`NAME = value` pairs to the end or to a closing bracket, commas between them or not."""
        return dict(self._listed(self._property))

    def tags(self) -> tuple[tuple[Name, str], ...]:
        """`tag = 'value'` pairs to the end, commas between them."""
        return tuple(self._listed(self._tag))

    def _tag(self) -> tuple[Name, str]:
        name = self.name()
        self.expect(TokenType.EQ)
        return name, self.string()

    def _property(self) -> tuple[str, Value]:
        name = self._word()
        self.expect(TokenType.EQ)
        return name, self._value()

    def _value(self) -> Value:
        token = self._peek(0)
        if token is None or token.token_type in _PUNCTUATION[1:]:
            raise self._unexpected()
        if not self._take_mark(TokenType.L_PAREN):
            return self.string() if token.token_type in _STRINGS else ".".join(self.name())
        second = self._peek(1)
        pairs = second is not None and second.token_type == TokenType.EQ
        value: Value = self.properties() if pairs else tuple(self._listed(self._value))
        self.expect(TokenType.R_PAREN)
        return value

    def _listed(self, take: Callable[[], T]) -> Iterator[T]:
        """To the end or to a closing bracket, commas between them or not."""
        while not self.at_end() and self._peek(0).token_type != TokenType.R_PAREN:
            yield take()
            self._take_mark(TokenType.COMMA)

    def _name_part(self) -> str:
        token = self._peek(0)
        if token is None or token.token_type in (*_STRINGS, *_PUNCTUATION):
            raise self._unexpected()
        self._next += 1
        quoted = token.token_type == TokenType.IDENTIFIER
        return str(token.text) if quoted else str(token.text).upper()

    def _word(self) -> str:
        word = self.word()
        if not word or self._peek(0).token_type in _PUNCTUATION:
            raise self._unexpected()
        self._next += 1
        return word

    def _take_mark(self, kind: TokenType) -> bool:
        token = self._peek(0)
        matches = token is not None and token.token_type == kind
        self._next += int(matches)
        return matches

    def _peek(self, ahead: int) -> Any:
        position = self._next + ahead
        return self._tokens[position] if position < len(self._tokens) else None

    def _unexpected(self) -> Refused:
        return syntax_error(f"syntax error, unexpected '{self.text() or '<EOF>'}'.")


def tokens_of(sql: str) -> Tokens:
    """The tokens of a text; refuses what is no SQL."""
    try:
        return Tokens(Snowflake().tokenize(sql))
    except TokenError as e:
        raise syntax_error(str(e)) from None


def parse_name(text: str) -> Name:
    """A name within a string, as system functions take it."""
    tokens = tokens_of(text)
    name = tokens.name()
    tokens.expect_end()
    return name
