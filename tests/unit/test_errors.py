"""What an error says can be shown anywhere, whatever names stand in it."""

from __future__ import annotations

import pytest

from frazil.errors import ConfigureError


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\r\0", r"a\r\x00"),
        ("\ud800", r"\ud800"),
        ("\u202eb", r"\u202eb"),
        ("Ž🚋", "Ž🚋"),
    ],
)
def test_a_name_in_it_is_shown_and_not_obeyed(name: str, shown: str) -> None:
    error = ConfigureError(f"There is no {name}.", where=name, todo=f"Make {name}\nor not.")

    assert str(error) == f"There is no {shown}.\n  Where: {shown}\n  Next: Make {shown}\nor not."
    assert error.document["what"] == f"There is no {shown}."
