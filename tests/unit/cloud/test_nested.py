"""A change of a policy is told by the places that differ."""

from __future__ import annotations

from typing import Any

import pytest

from frazil_cloud.plan import Change

READS = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"]}


@pytest.mark.parametrize(
    ("there", "wanted", "text"),
    [
        (1, 2, "rights: 1 -> 2"),
        (None, ["a"], 'rights: null -> ["a"]'),
        ({"a": 1}, ["a"], 'rights: {"a": 1} -> ["a"]'),
        (("a", "b"), ["a", "c"], 'rights/1: "b" -> "c"'),
        ([READS], [{**READS, "Effect": "Deny"}], 'rights/0/Effect: "Allow" -> "Deny"'),
        ([READS], [], 'rights/0: {"Action": ["s3:GetObject", "s3:ListBucket"], "Effect": "Allow"} -> null'),
        ({"a": 1}, {"b": 2}, "rights/a: 1 -> null; rights/b: null -> 2"),
        (["a", "b", "c"], ["c", "a", "b"], 'rights/0: null -> "c"; rights/3: "c" -> null'),
    ],
)
def test_only_what_differs_is_told(there: Any, wanted: Any, text: str) -> None:
    assert str(Change("rights", there, wanted)) == text
