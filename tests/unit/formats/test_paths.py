"""Paths of fields, as messages and settings name them."""

from __future__ import annotations

import pytest

from frazil.formats.logical import ROOT, List, Primitive, Struct
from frazil.formats.paths import member_path


@pytest.mark.parametrize("name", ["id", ".", ".id", "..", "a.b"])
def test_a_member_of_the_root_is_named_as_it_is_called(name: str) -> None:
    """A name that began with a dot lost it: the message named a field that is not there."""
    assert member_path("", name) == name
    assert ROOT.within(Struct(()), name).text == name


def test_a_name_that_is_no_text_has_a_path_all_the_same() -> None:
    """A schema is refused for it later, in words that have the path."""
    assert member_path("", 22) == "22"


def test_a_part_is_named_behind_what_it_is_part_of() -> None:
    assert member_path("orders[]", ".") == "orders[].."
    assert ROOT.within(Struct(()), "orders").within(List(Primitive("int")), "element").text == "orders[]"
