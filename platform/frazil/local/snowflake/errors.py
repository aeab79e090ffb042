"""What the stand-in refuses, with the error numbers and SQL states that Snowflake uses."""

from __future__ import annotations

__all__ = ["Refused", "already_there", "invalid", "missing", "syntax_error", "unsupported"]


class Refused(Exception):
    """A statement that the stand-in answers with an error.

    Args:
        number: Snowflake's error number.
        state: The SQL state.
        text: The message.
    """

    def __init__(self, number: int, state: str, text: str) -> None:
        super().__init__(text)
        self.number, self.state, self.text = number, state, text


def missing(kind: str, name: str) -> Refused:
    """A named object is not there."""
    text = f"SQL compilation error:\n{_title(kind)} '{name}' does not exist or not authorized."
    return Refused(2003, "02000", text)


def already_there(kind: str, name: str) -> Refused:
    """An object of that name is there already."""
    return Refused(2002, "42710", f"SQL compilation error:\n{_title(kind)} '{name}' already exists.")


def syntax_error(text: str) -> Refused:
    """The statement can't be read."""
    return Refused(1003, "42000", f"SQL compilation error:\n{text}")


def invalid(parameter: str, value: str) -> Refused:
    """A property has a value that can't be."""
    text = f"SQL compilation error:\ninvalid value [{value}] for parameter '{parameter}'"
    return Refused(1008, "22023", text)


def unsupported(text: str) -> Refused:
    """Snowflake can do it, the stand-in can't."""
    return Refused(2, "0A000", f"Unsupported feature in the stand-in: {text}")


def _title(kind: str) -> str:
    return kind.capitalize()
