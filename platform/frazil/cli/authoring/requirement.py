"""The line of a requirements.txt that installs the Frazil that runs here, from where it came."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from typing import Any
from urllib.parse import urlsplit, urlunsplit

_NAME = "frazil"


def own_requirement(extra: str) -> str:
    """Frazil with an extra: this version of an index, or the checkout, file or git address that it is of."""
    installed = distribution(_NAME)
    direct_url = installed.read_text("direct_url.json")  # PEP 610: written unless it came from an index
    return requirement_of(json.loads(direct_url) if direct_url else None, installed.version, extra)


def requirement_of(origin: dict[str, Any] | None, version: str, extra: str) -> str:
    """The same by the document of PEP 610, which says where a distribution came from; None is an index."""
    if origin is None:
        return f"{_NAME}[{extra}]=={version}"
    address, vcs = _without_login(origin["url"]), origin.get("vcs_info")
    where = f"{vcs['vcs']}+{address}@{vcs['commit_id']}" if vcs else address
    return f"{_NAME}[{extra}] @ {where}"


def is_local(requirement: str) -> bool:
    """Whether it names a folder or a file of this machine, which no other one has."""
    return " @ file:" in requirement


def _without_login(address: str) -> str:
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    keeps = f"{user}@" if user == "git" else ""  # the user of ssh://git@..., which is no secret
    return urlunsplit(parts._replace(netloc=f"{keeps}{host}"))
