"""What `frazil init` writes into requirements.txt installs the Frazil that wrote it, wherever it is from."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.requirements import Requirement

from frazil.cli.authoring.repository import is_local, requirement_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = {"vcs": "git", "commit_id": COMMIT}


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "frazil[local]==1.2.3"),
        (
            {"url": "file:///src/frazil", "dir_info": {"editable": True}},
            "frazil[local] @ file:///src/frazil",
        ),
        ({"url": "file:///dist/frazil.whl", "archive_info": {}}, "frazil[local] @ file:///dist/frazil.whl"),
        (
            {"url": "https://git.example/us/frazil", "vcs_info": GIT},
            f"frazil[local] @ git+https://git.example/us/frazil@{COMMIT}",
        ),
        (
            {"url": "ssh://git@git.example/us/frazil", "vcs_info": GIT},
            f"frazil[local] @ git+ssh://git@git.example/us/frazil@{COMMIT}",
        ),
        (
            {"url": "https://me:secret@git.example/us/frazil", "vcs_info": GIT},
            f"frazil[local] @ git+https://git.example/us/frazil@{COMMIT}",
        ),
    ],
)
def test_it_names_the_index_the_checkout_or_the_commit(origin: dict[str, Any] | None, wanted: str) -> None:
    requirement = requirement_of(origin, "1.2.3", "local")

    assert requirement == wanted
    assert Requirement(requirement).extras == {"local"}


def test_what_other_machines_do_not_have_is_known() -> None:
    assert is_local("frazil[local] @ file:///src/frazil")
    assert not is_local(f"frazil[local] @ git+https://git.example/us/frazil@{COMMIT}")
    assert not is_local("frazil[local]==1.2.3")
