"""What Confluent Cloud's refusals say, in words that people can act on."""

from __future__ import annotations

from typing import NamedTuple

import requests

from frazil.errors import MALFORMED, ConfigureError


def text_of(answer: requests.Response) -> str:
    """What a refusal says, in any of Confluent's three shapes."""
    try:
        document = answer.json()
        if errors := document.get("errors"):
            return "; ".join(str(each.get("detail") or each.get("title") or each) for each in errors)
        inner = document.get("error")
        return str(inner["message"] if isinstance(inner, dict) else document["message"])
    except MALFORMED:
        return f"{answer.text:.200}"


def seconds_after(answer: requests.Response) -> float:
    """Seconds until Confluent wants to be asked again; one where it does not say."""
    seconds = answer.headers.get("Retry-After") or answer.headers.get("X-RateLimit-Reset") or "1"
    try:
        return max(0.0, float(seconds))
    except ValueError:
        return 1.0


class Settled(NamedTuple):
    """A key that was made long ago: a service that refuses it now will not accept it later."""

    secret: str
    """The name of its secret."""
    use: str


def wrong_key(settled: Settled, text: str) -> ConfigureError:
    """A key that was made long ago is refused: its secret was changed."""
    return ConfigureError(
        f"The key in the secret {settled.secret} is refused, though it is not new.",
        where=text,
        meaning="Everything that uses the secret is refused, too. Nothing was done.",
        todo="Somebody changed the secret, or the key: "
        f"`frazil rotate --what {settled.use} --now` makes a new one. What was taken out of the deployment "
        "since must be in it for that.",
    )


def unknown_key(where: str) -> ConfigureError:
    """The settings' own key is refused."""
    return ConfigureError(
        "Confluent Cloud does not know who asks.",
        where=where,
        meaning="Nothing was done.",
        todo="Fix FRAZIL_CONFLUENT__API_KEY and FRAZIL_CONFLUENT__API_SECRET: it must be a Cloud API key.",
    )
