"""A client of Confluent Cloud's planes: each has an address, a key and a shape of errors of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from frazil.errors import MALFORMED, ConfigureError, NotAllowedError
from frazil.settings.systems.confluent import ConfluentSettings
from frazil_cloud.confluent.refusals import (
    Settled,
    seconds_after,
    text_of,
    unknown_key,
    wrong_key,
)
from frazil_cloud.patience import insisting
from frazil_cloud.resource import AnswerLost, NeedMissingError, NotYet, RefusedYet, Throttled
from frazil_cloud.secrets import SecretStore

Json = dict[str, Any]

_SECONDS = (5, 30)  # to connect, to answer
_SYNCED = timedelta(minutes=30)  # after which each plane knows a key
_PAGE = "100"
_MANAGEMENT = "the management API"
_ENDPOINT = "https://api.confluent.cloud"
_FLINK = "https://flink.{region}.aws.confluent.cloud"


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


def _never(status: int, text: str) -> bool:
    return False


def _is_400(status: int, text: str) -> bool:
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
    soon: Soon = field(default=_never, repr=False)
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

    def post(self, path: str, body: Json, right: str = "", soon: Soon = _never) -> Json:
        """Makes something; `right` is what the caller needs for it, for people."""
        return self.ask("POST", path, body, right=right, soon=soon)

    def delete(self, path: str, query: Mapping[str, str] | None = None, soon: Soon = _never) -> None:
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
        soon: Soon = _never,
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


@dataclass(frozen=True)
class Confluent:
    """All planes of one organization."""

    settings: ConfluentSettings

    @cached_property
    def session(self) -> requests.Session:
        """Connections that all planes share."""
        return requests.Session()

    @property
    def endpoint(self) -> str:
        """Where the management API and Tableflow are."""
        return (self.settings.endpoint or _ENDPOINT).rstrip("/")

    @cached_property
    def cloud(self) -> Plane:
        """The management API, asked with the settings' key.

        Raises:
            ConfigureError: The settings have none.
        """
        key, secret = self.settings.api_key, self.settings.api_secret
        if key is None or secret is None:
            raise ConfigureError(
                "There is no key for Confluent Cloud.",
                meaning="Nothing was asked.",
                todo="Set FRAZIL_CONFLUENT__API_KEY and FRAZIL_CONFLUENT__API_SECRET: a Cloud API key.",
            )
        pair = (key.get_secret_value(), secret.get_secret_value())
        return Plane(_MANAGEMENT, self.endpoint, pair, self.session, is_ours=True)

    @cached_property
    def organization(self) -> str:
        """The name of the organization of the settings' key, with which those of all its objects begin."""
        for body in self.cloud.every("/org/v2/organizations"):
            return str(body["metadata"]["resource_name"])
        raise NotYet("Confluent names no organization")

    def plane(self, name: str, base: str, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Another plane, with a key that is for it."""
        return Plane(name, base.rstrip("/"), key, self.session, settled=settled)

    def tableflow(self, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Tableflow's."""
        return self.plane("Tableflow", self.endpoint, key, settled)

    def flink(self, region: str, key: tuple[str, str], settled: Settled | None = None) -> Plane:
        """Flink's, of a region; another cloud than Confluent's has it where all the rest is.

        A region that does not know a new key yet answers 400, 401 or 404, for minutes. To one that it has
        long known a 400 says that the request is wrong.
        """
        base = (self.settings.endpoint or _FLINK.format(region=region)).rstrip("/")
        soon: Soon = _never if settled else _is_400
        return Plane("Flink", base, key, self.session, soon=soon, settled=settled)


def stored_pair(
    secrets: SecretStore, known: Mapping[str, Mapping[str, Any]], address: str
) -> tuple[str, str]:
    """A key and its secret, from the store.

    Raises:
        NeedMissingError: The key is not there, or nobody has its secret.
    """
    facts = known[address]
    stored = secrets.get(facts["secret"]) if facts["stored"] else None
    if stored is None:
        raise NeedMissingError(address)
    return pair_of(stored)


def settled_key(known: Mapping[str, Mapping[str, Any]], address: str) -> Settled | None:
    """A key that was made long ago; None where it is young, or not there."""
    facts = known.get(address, {})
    created = facts.get("created")
    if not created or datetime.now(UTC) - datetime.fromisoformat(created) < _SYNCED:
        return None
    return Settled(str(facts["secret"]), address.rpartition("/")[2])


def pair_of(stored: Mapping[str, str]) -> tuple[str, str]:
    """A key and its secret out of any secret of cloud.md's forms."""
    if info := stored.get("schema.registry.basic.auth.user.info"):
        key, _, secret = info.partition(":")
        return key, secret
    if "sasl.username" in stored:
        return stored["sasl.username"], stored["sasl.password"]
    return stored["api.key"], stored["api.key.secret"]


def stays(body: Json) -> bool:
    """Whether an object that is seen is not on its way out."""
    return not body.get("metadata", {}).get("deleted_at")


def awaited(body: Json, *phases: str) -> str:
    """The phase of an object; one that is on its way raises NotYet."""
    phase = str(body.get("status", {}).get("phase", ""))
    if phase in phases:
        raise NotYet(f"it is {phase}")
    return phase


def _document(answer: requests.Response, where: str) -> Json:
    if not answer.content:
        return {}
    try:
        document = answer.json()
        return document if isinstance(document, dict) else {"data": document}
    except MALFORMED:
        raise AnswerLost(f"the answer to {where} is no JSON") from None
