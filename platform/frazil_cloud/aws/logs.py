"""The log group of a deployment's runs, which forgets after some days."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.aws.mark import ANOTHER_DEPLOYMENT, foreign, is_ours, own_tags, tags
from frazil_cloud.resource import Facts, Known, NotYet
from frazil_cloud.spec.deployment import DeploymentSpec


@dataclass(frozen=True)
class LogGroup:
    """`aws/log_group`."""

    aws: Aws
    spec: DeploymentSpec
    address: str = "aws/log_group"
    needs: tuple[str, ...] = ()
    fixed: ClassVar[frozenset[str]] = frozenset()

    def wanted(self, known: Known) -> Facts:
        """Its name, and for how long it keeps what it is told."""
        days = self.spec.aws.log_retention_days
        return {"name": self._name, "retention_days": days, "tags": tags(self.spec)}

    def read(self, known: Known) -> Facts | None:
        """The same as it is; None where the group is somebody else's."""
        if (group := self._group()) is None:
            return None
        with suppress(GoneError):
            tags_there = self._logs.list_tags_for_resource(resourceArn=group["arn"].removesuffix(":*"))[
                "tags"
            ]
            if is_ours(self.spec, tags_there):
                days = group.get("retentionInDays")
                return {"name": self._name, "retention_days": days, "tags": own_tags(self.spec, tags_there)}
        return None

    def create(self, known: Known) -> None:
        """Makes it."""
        try:
            self._logs.create_log_group(logGroupName=self._name, tags=tags(self.spec))
        except ThereError:
            if self._group() and self.read(known) is None:
                raise foreign(self.spec, f"The log group {self._name}", ANOTHER_DEPLOYMENT) from None
            raise NotYet(f"the log group {self._name} was not seen") from None

    def update(self, there: Facts, known: Known) -> None:
        """Sets for how long it keeps what it is told."""
        self._logs.put_retention_policy(
            logGroupName=self._name, retentionInDays=self.spec.aws.log_retention_days
        )

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it."""
        with suppress(GoneError):
            self._logs.delete_log_group(logGroupName=self._name)

    def verify(self, there: Facts, known: Known) -> None:
        """Writes a line."""
        stream = {"logGroupName": self._name, "logStreamName": f"verify-{uuid.uuid4().hex}"}
        line = {"timestamp": int(time.time() * 1000), "message": "frazil verifies the deployment"}
        self._logs.create_log_stream(**stream)
        try:
            self._logs.put_log_events(**stream, logEvents=[line])
        finally:
            self._logs.delete_log_stream(**stream)

    @property
    def _name(self) -> str:
        return self.spec.names.log_group

    @property
    def _logs(self) -> Any:
        return self.aws.client("logs")

    def _group(self) -> dict[str, Any] | None:
        pages = self._logs.pages("describe_log_groups", logGroupNamePrefix=self._name)
        named = (each for page in pages for each in page["logGroups"] if each["logGroupName"] == self._name)
        return next(named, None)
