"""One plane of Confluent Cloud's API: requests, pages, refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from frazil.errors import MALFORMED, ConfigureError, NotAllowedError
from frazil_cloud.confluent.refusals import (
    Settled,
    seconds_after,
    text_of,
    unknown_key,
    wrong_key,
)
from frazil_cloud.patience import insisting
from frazil_cloud.resource import AnswerLost, RefusedYet, Throttled

Json = dict[str, Any]


_SECONDS = (5, 30)  # to connect, to answer


_PAGE = "100"


Soon = Callable[[int, str], bool]
"""Tells of a status and its text whether waiting may fix what they refuse."""


class Missing(Exception):
    """What was asked for is not there; Confluent says 403 for some things that were deleted.

    Args:
        where: The request.
        refusal: What else the answer may mean.
    """

    def __init__(self, where: str, refusal: Exception) -> None:
        super().__init__(where)
        self.refusal = refusal


def never(status: int, text: str) -> bool:
    """Nothing that is refused may be fixed by waiting."""
    return False


def is_400(status: int, text: str) -> bool:
    """Whether the request is called wrong, which a region says of a key that it does not know yet."""
    return status == 400


@dataclass(frozen=True)
class Plane:
    """One part of the API, asked with the key that is for it.

    Args:
        name: For people, such as `the cluster lkc-1`.
        base: The address.
        key: The API key, and its secret.
        is_ours: Whether the key is the settings' own. One that was made a moment ago may be refused for a
            while, as its role bindings may; the settings' own is refused for good.
        soon: What waiting may fix on this plane.
        settled: Where the key has worked for long: it is refused for good.
    """

    name: str
    base: str
    key: tuple[str, str] = field(repr=False)
    session: requests.Session = field(repr=False)
    is_ours: bool = False
    soon: Soon = field(default=never, repr=False)
    settled: Settled | None = None

    def get(self, path: str, right: str = "") -> Json | None:
        """One object; None if it is not there."""
        try:
            return self.ask("GET", path, gone=(404,), right=right)
        except Missing:
            return None

    def every(self, path: str, **query: str) -> Iterator[Json]:
        """All objects of a collection, page by page."""
        token = ""
        while True:
            asked = {"page_size": _PAGE, **query, **({"page_token": token} if token else {})}
            page = self.ask("GET", path, query=asked)
            yield from page.get("data", [])
            after = parse_qs(urlsplit(page.get("metadata", {}).get("next") or "").query)
            if not (token := after.get("page_token", [""])[0]):
                return

    def by_few(self, path: str, name: str, values: Collection[str], **query: str) -> Iterator[Json]:
        """The objects of a collection whose `name` is one of some values, and maybe others.

        One request where all fit on one page; else one, or more, for each value.
        """
        if len(values) > 1:
            page = self.ask("GET", path, query={"page_size": _PAGE, **query})
            if not page.get("metadata", {}).get("next"):
                yield from page.get("data", [])
                return
        for value in values:
            yield from self.every(path, **query, **{name: value})

    def post(self, path: str, body: Json, right: str = "", soon: Soon = never) -> Json:
        """Makes something; `right` is what the caller needs for it, for people."""
        return self.ask("POST", path, body, right=right, soon=soon)

    def delete(self, path: str, query: Mapping[str, str] | None = None, soon: Soon = never) -> None:
        """Removes something. It may be gone already.

        Confluent answers 403 for some things that are gone, and for what the key may not remove. Whether
        it can still be seen tells which.
        """
        try:
            self.ask("DELETE", path, query=query, gone=(403, 404), soon=soon)
        except Missing as e:
            if self._is_seen(path, query or {}):
                raise e.refusal from None

    def _is_seen(self, path: str, query: Mapping[str, str]) -> bool:
        try:
            body = self.ask("GET", path, query=query, gone=(403, 404))
        except Missing:
            return False
        return bool(body.get("data", True)) and stays(body)

    def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        gone: tuple[int, ...] = (),
        right: str = "",
        soon: Soon = never,
    ) -> Json:
        """The answer to one request.

        `gone` are statuses that mean that it is not there, `soon` tells of others that waiting may fix.

        Raises:
            Missing: The status is one of `gone`.
            NotYet: Waiting may fix it.
            FrazilError: It may not.
        """

        def once() -> Json:
            where, params = f"{method} {path}", dict(query or {})
            try:
                answer = self.session.request(
                    method, self.base + path, json=body, params=params, auth=self.key, timeout=_SECONDS
                )
            except (requests.RequestException, OSError) as e:
                raise AnswerLost(f"{self.name} did not answer {where}: {type(e).__name__}") from None
            if answer.status_code < 400:
                return _document(answer, where)
            refusal = self._refusal(answer, where, right, soon)
            raise Missing(where, refusal) if answer.status_code in gone else refusal

        return once() if method == "POST" else insisting(once)

    def _refusal(self, answer: requests.Response, where: str, right: str, soon: Soon) -> Exception:
        status, message = answer.status_code, text_of(answer)
        text = f"{self.name} answered {status} to {where}: {message}"
        if soon(status, message) or self.soon(status, message):
            return RefusedYet(text)
        if status == 429:
            return Throttled(text, seconds_after(answer))
        if status >= 500:
            return AnswerLost(text)
        if status == 401:
            return self._stranger(text, where)
        if status == 403:
            return self._forbidden(text, message, right)
        if status == 409:
            return RefusedYet(f"{text}; there: {answer.headers.get('Location', 'not told')}")
        if status == 404:
            return RefusedYet(text)
        if status == 402:
            return ConfigureError(
                "A quota of Confluent Cloud is used up.", where=text,
                todo="Delete what nobody needs, or ask Confluent for more.",
            )  # fmt: skip
        return ConfigureError(
            "Confluent Cloud does not take a request.", where=text, todo="Fix the deployment."
        )

    def _stranger(self, text: str, where: str) -> Exception:
        if self.is_ours:
            return unknown_key(where)
        return (
            wrong_key(self.settled, text)
            if self.settled
            else RefusedYet(f"{text}; a new key works after a while")
        )

    def _forbidden(self, text: str, message: str, right: str) -> Exception:
        if not self.is_ours:
            return RefusedYet(f"{text}" + (f"; it needs {right}" if right else ""))
        return NotAllowedError(
            "Confluent Cloud does not allow it.",
            where=text,
            meaning="What was made stays.",
            todo=f"Give the owner of the Cloud API key {right or 'the role OrganizationAdmin'}.",
        )


def _document(answer: requests.Response, where: str) -> Json:
    if not answer.content:
        return {}
    try:
        document = answer.json()
        return document if isinstance(document, dict) else {"data": document}
    except MALFORMED:
        raise AnswerLost(f"the answer to {where} is no JSON") from None


def stays(body: Json) -> bool:
    """Whether an object that is seen is not on its way out."""
    return not body.get("metadata", {}).get("deleted_at")
