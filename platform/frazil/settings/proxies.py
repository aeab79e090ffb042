"""Proxies and authorities that the environment names for the way to servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from requests import Session


def ask_environment_once(session: Session) -> None:
    """Looks once for each server which proxy and which authorities the environment names.

    requests looks at each request, which was an eighth of the CPU of asking for a thousand tables.
    """
    look = session.merge_environment_settings
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def looked(url: str, proxies: dict[str, str], stream: Any, verify: Any, cert: Any) -> dict[str, Any]:
        key = (*urlsplit(url)[:2], *sorted(proxies.items()), stream, verify, cert)
        if key not in seen:
            seen[key] = look(url, proxies, stream, verify, cert)
        return dict(seen[key])

    session.merge_environment_settings = looked  # type: ignore[assignment,method-assign]
