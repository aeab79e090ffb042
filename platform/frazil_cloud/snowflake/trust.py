"""What reads AWS for Snowflake: an external volume and catalog integrations.

Each comes as a user of Snowflake's own account, with an external id that Snowflake draws when it is made.
So they are never made with OR REPLACE: the trust of the reader's role would name an id that nobody has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import RepairError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, Known, RefusedYet
from frazil_cloud.snowflake.described import Described, described
from frazil_cloud.snowflake.ownership import ACCOUNT, Marked

_NOT_YET = "AWS may be seconds late; the trust of the reader's role must name this user and external id"


@dataclass(frozen=True)
class Volume(Marked):
    """An external volume that only reads.

    Args:
        base_url: What it may read.
        role_arn: The role that it takes; known before the role is there.
    """

    base_url: str = field(kw_only=True)
    role_arn: Callable[[], str] = field(kw_only=True)

    kind: ClassVar[str] = "EXTERNAL VOLUME"
    role: ClassVar[str] = ACCOUNT
    fixed: ClassVar[frozenset[str]] = frozenset({"base_url", "role_arn"})

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        where = {"base_url": self.base_url, "role_arn": self.role_arn()}
        return {**super().wanted(known), **where, "allow_writes": "false"}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        described = self.snowflake.shown(f"DESC {self}", role=ACCOUNT)
        by_property = {each["property"]: each["property_value"] for each in described}
        location = json.loads(by_property["STORAGE_LOCATION_1"])
        return {
            "base_url": location["STORAGE_BASE_URL"],
            "role_arn": location["STORAGE_AWS_ROLE_ARN"],
            "allow_writes": str(by_property["ALLOW_WRITES"]).lower(),
            "iam_user_arn": location["STORAGE_AWS_IAM_USER_ARN"],
            "external_id": location["STORAGE_AWS_EXTERNAL_ID"],
        }

    def options(self, known: Known) -> str:
        """See `Marked`."""
        location = (
            f"NAME = {text(self.name[-1] + '_LOCATION')} STORAGE_PROVIDER = 'S3' "
            f"STORAGE_BASE_URL = {text(self.base_url)} STORAGE_AWS_ROLE_ARN = {text(self.role_arn())}"
        )
        options = f"STORAGE_LOCATIONS = (({location})) ALLOW_WRITES = FALSE"
        return f"{double_quoted(*self.name)} {options} {self.comment}"

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`: everything else is fixed."""
        self.say(f"ALTER {self} SET ALLOW_WRITES = FALSE")

    def verify(self, there: Facts, known: Known) -> None:
        """Lets Snowflake take the role."""
        answer = self.say(f"SELECT SYSTEM$VERIFY_EXTERNAL_VOLUME({text(self.name[-1])})")[0][0]
        outcome = json.loads(answer)
        if not outcome["success"]:
            failed = [f"{name}: {result}" for name, result in outcome.items() if "FAILED" in str(result)]
            raise RefusedYet(f"{'; '.join(failed)} ({_NOT_YET})")


@dataclass(frozen=True)
class Integration(Marked):
    """A catalog integration.

    Args:
        namespace: The namespace of its tables, given what is known: a cluster's id, or a database of Glue.
        role_arn: The role that it takes; known before the role is there.
        refresh: Seconds between two looks of Snowflake at the catalog.
    """

    namespace: Callable[[Known], str] = field(kw_only=True)
    role_arn: Callable[[], str] = field(kw_only=True)
    region: str = field(kw_only=True)
    account: Callable[[], str] = field(kw_only=True)
    refresh: int = field(kw_only=True)

    kind: ClassVar[str] = "CATALOG INTEGRATION"
    role: ClassVar[str] = ACCOUNT
    fixed: ClassVar[frozenset[str]] = frozenset({"source", "namespace", "role_arn"})

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {
            **super().wanted(known),
            "source": "GLUE",
            "namespace": self.namespace(known),
            "role_arn": self.role_arn(),
            **in_use(self.refresh),
        }

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        description = self.described()
        return {
            "source": description.text("CATALOG_SOURCE"),
            "namespace": description.text("CATALOG_NAMESPACE"),
            "role_arn": description.text("GLUE_AWS_ROLE_ARN"),
            "iam_user_arn": description.text("GLUE_AWS_IAM_USER_ARN"),
            "external_id": description.text("GLUE_AWS_EXTERNAL_ID"),
            **use_of(description),
        }

    def described(self) -> Described:
        """DESC, by property."""
        return described(str(self), self.snowflake.shown(f"DESC {self}", role=ACCOUNT))

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`: everything else is fixed."""
        self.say(f"ALTER {self} SET {use(self.refresh)}")

    def options(self, known: Known) -> str:
        """See `Marked`."""
        return (
            f"{double_quoted(*self.name)} CATALOG_SOURCE = GLUE TABLE_FORMAT = ICEBERG "
            f"GLUE_AWS_ROLE_ARN = {text(self.role_arn())} GLUE_CATALOG_ID = {text(self.account())} "
            f"GLUE_REGION = {text(self.region)} CATALOG_NAMESPACE = {text(self.namespace(known))} "
            f"{use(self.refresh)} {self.comment}"
        )


@dataclass(frozen=True)
class GlueRest(Integration):
    """The same through Glue's Iceberg REST, which Snowflake recommends."""

    fixed: ClassVar[frozenset[str]] = Integration.fixed | {"uri", "catalog", "signs_for"}

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        place = {"uri": self._uri, "catalog": self.account(), "signs_for": self.region}
        return {**super().wanted(known), "source": "ICEBERG_REST", **place}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        description = self.described()
        return {
            "source": description.text("CATALOG_SOURCE"),
            "namespace": description.text("CATALOG_NAMESPACE"),
            "uri": description.text("REST_CONFIG", "CATALOG_URI"),
            "catalog": description.text("REST_CONFIG", "CATALOG_NAME"),
            "role_arn": description.text("REST_AUTHENTICATION", "SIGV4_IAM_ROLE"),
            "signs_for": description.text("REST_AUTHENTICATION", "SIGV4_SIGNING_REGION"),
            "iam_user_arn": description.text("API_AWS_IAM_USER_ARN"),
            "external_id": description.text("API_AWS_EXTERNAL_ID"),
            **use_of(description),
        }

    def options(self, known: Known) -> str:
        """See `Marked`."""
        return (
            f"{double_quoted(*self.name)} CATALOG_SOURCE = ICEBERG_REST TABLE_FORMAT = ICEBERG "
            f"CATALOG_NAMESPACE = {text(self.namespace(known))} "
            f"REST_CONFIG = (CATALOG_URI = {text(self._uri)} CATALOG_API_TYPE = AWS_GLUE "
            f"CATALOG_NAME = {text(self.account())} ACCESS_DELEGATION_MODE = EXTERNAL_VOLUME_CREDENTIALS) "
            f"REST_AUTHENTICATION = (TYPE = SIGV4 SIGV4_IAM_ROLE = {text(self.role_arn())} "
            f"SIGV4_SIGNING_REGION = {text(self.region)}) {use(self.refresh)} {self.comment}"
        )

    @property
    def _uri(self) -> str:
        return f"https://glue.{self.region}.amazonaws.com/iceberg"

    def verify(self, there: Facts, known: Known) -> None:
        """Lets Snowflake talk to the catalog."""
        proven(self)


def use(refresh: int) -> str:
    """How an integration is used, as CREATE and ALTER say it.

    See https://docs.snowflake.com/en/sql-reference/sql/alter-catalog-integration.
    """
    return f"ENABLED = TRUE REFRESH_INTERVAL_SECONDS = {refresh}"


def in_use(refresh: int) -> Facts:
    """The same as facts."""
    return {"enabled": "true", "refresh_seconds": str(refresh)}


def use_of(description: Described) -> Facts:
    """The same as DESC tells it."""
    enabled, seconds = description.text("ENABLED").lower(), description.text("REFRESH_INTERVAL_SECONDS")
    return {"enabled": enabled, "refresh_seconds": seconds}


def proven(integration: Marked) -> None:
    """Lets Snowflake talk to a REST catalog; only such can be verified without a table."""
    name = text(integration.name[-1])
    outcome = json.loads(integration.say(f"SELECT SYSTEM$VERIFY_CATALOG_INTEGRATION({name})")[0][0])
    if outcome["success"]:
        return
    why = f"{outcome.get('errorCode')}: {outcome.get('errorMessage')}"
    if "AWS_ROLE" in why or "assum" in why.lower():
        raise RefusedYet(f"{why} ({_NOT_YET})")
    raise RepairError(
        f"Snowflake can't use the {integration}.",
        where=why,
        meaning="Tables of that catalog are not shown.",
        todo="Fix what the message names, then `frazil deploy verify`.",
    )
