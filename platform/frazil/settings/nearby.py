"""What to do where a server does not answer: the embedded stack is on this machine, all others are not."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

_LOCAL = "localhost"


def to_start(address: str) -> str:
    """Only what is at this machine's own loopback is started by `frazil up`: it also writes a profile."""
    return (
        "`frazil status` shows what runs, `frazil up` starts what does not."
        if _is_here(address)
        else "See whether it runs, and whether this machine reaches it; then try again."
    )


def _is_here(address: str) -> bool:
    """Of several servers, the first tells."""
    first = address.partition(",")[0]
    try:
        host = urlsplit(first if "://" in first else f"//{first}").hostname or ""
        return host == _LOCAL or ip_address(host).is_loopback
    except ValueError:  # a name
        return False
