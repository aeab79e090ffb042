"""API keys that a broker knows before anybody has them.

Kafka accepts new users of SASL PLAIN at run time, but a listener that runs goes on with the old ones (tried
with 4.3.1). So the broker starts with many users, whose passwords follow from a secret of the stack, and the
stand-in gives each of them out once. Before and after its time a user may do nothing.
"""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256

COUNT = 1000
"""How many keys of clusters a stack has in its life; a deployment takes three, and one for each turn."""


def users(seed: str) -> dict[str, str]:
    """All keys and their secrets, in the order in which they are given out."""
    return {_drawn(seed, f"{n} id", 16): _drawn(seed, f"{n} secret", 64) for n in range(COUNT)}


def jaas(seed: str) -> str:
    """What the listener is told of them."""
    known = " ".join(f'user_{name}="{password}"' for name, password in users(seed).items())
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {known};"


def _drawn(seed: str, what: str, length: int) -> str:
    digest = hmac.digest(seed.encode(), what.encode(), sha256)
    more = hmac.digest(seed.encode(), digest, sha256)
    letters = base64.b32encode(digest + more).decode().rstrip("=")
    return letters[:length]
