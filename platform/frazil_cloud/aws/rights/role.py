"""A role of a deployment: who may take it, what it may, and the proof that it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import ConfigureError, NotAllowedError
from frazil.settings.refusals import statement
from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.aws.mark import foreign, is_ours, own_tags, tag_dict, tag_list, tags
from frazil_cloud.aws.rights.lateness import Lateness
from frazil_cloud.aws.rights.policies import Statement, canonical, document
from frazil_cloud.resource import Facts, Known, NotYet
from frazil_cloud.spec.deployment import DeploymentSpec


@dataclass(frozen=True)
class Role(ABC):
    """A role with one policy of its own; other policies on it are drift, for they give rights."""

    aws: Aws
    spec: DeploymentSpec
    lateness: Lateness = field(default_factory=Lateness, compare=False)
    fixed: ClassVar[frozenset[str]] = frozenset()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the role."""

    @property
    @abstractmethod
    def policy(self) -> str:
        """Name of its policy."""

    @abstractmethod
    def trust(self, known: Known) -> Sequence[Statement]:
        """Who may take it. Nobody who must exist before, but for those that it needs."""

    @abstractmethod
    def rights(self, known: Known) -> Sequence[Statement]:
        """What it may."""

    @property
    def arn(self) -> str:
        """Known before the role exists, so that others can name it first."""
        return f"arn:aws:iam::{self.aws.account}:role/{self.name}"

    def own_trust(self) -> Sequence[Statement]:
        """The statements of the trust that name the role itself: IAM takes them only once the role exists."""
        return ()

    def wanted(self, known: Known) -> Facts:
        """Trust and rights, as statements that can be compared."""
        return {
            "name": self.name,
            "arn": self.arn,
            "tags": tags(self.spec),
            "trust": canonical([*self.trust(known), *self.own_trust()]),
            "rights": canonical(self.rights(known)),
            "other_policies": [],
        }

    def read(self, known: Known) -> Facts | None:
        """Trust and rights as they are; None where the role is somebody else's."""
        with suppress(GoneError):
            role = self._iam.get_role(RoleName=self.name)["Role"]
            existing_tags = tag_dict(role.get("Tags", []))
            if is_ours(self.spec, existing_tags):
                return {
                    "name": self.name,
                    "arn": role["Arn"],
                    "tags": own_tags(self.spec, existing_tags),
                    "trust": canonical(role["AssumeRolePolicyDocument"]),
                    "rights": canonical(self._rights()),
                    "other_policies": [*self._attached(), *(n for n in self._inline() if n != self.policy)],
                }
        return None

    def create(self, known: Known) -> None:
        """Makes it, without the trust in itself; `update` gives it that, and its rights."""
        trust = document(self.trust(known))
        try:
            self._iam.create_role(
                RoleName=self.name, AssumeRolePolicyDocument=trust, Tags=tag_list(tags(self.spec))
            )
        except ThereError:
            if self.read(known) is None:
                todo = "Choose another name in the deployment, by `aws.writer_role` or `aws.reader_role`."
                raise foreign(self.spec, f"The role {self.name}", todo) from None
            raise NotYet(f"the role {self.name} was not seen") from None

    def update(self, there: Facts, known: Known) -> None:
        """Gives it its trust and its rights, and takes away all others."""
        wanted, role = self.wanted(known), {"RoleName": self.name}
        self._iam.put_role_policy(**role, PolicyName=self.policy, PolicyDocument=document(wanted["rights"]))
        self._drop(there["other_policies"])
        self._iam.update_assume_role_policy(**role, PolicyDocument=document(wanted["trust"]))

    def delete(self, there: Facts, known: Known) -> None:
        """Removes it, its policies first."""
        with suppress(GoneError):
            self._drop([*self._attached(), *self._inline()])
            self._iam.delete_role(RoleName=self.name)

    def taken(self, by: Aws) -> Aws:
        """AWS as the role, taken by somebody."""
        try:
            return by.taking(self.arn)
        except ConfigureError as e:
            raise NotAllowedError(
                f"The role {self.name} can't be taken.",
                where=e.where,
                meaning="Nothing was changed.",
                todo=f"Its trust must name you, your policy needs {statement('sts:AssumeRole', self.arn)}",
            ) from None

    @property
    def _iam(self) -> Any:
        return self.aws.client("iam")

    def _rights(self) -> str | dict[str, Any]:
        with suppress(GoneError):
            inline_policy = self._iam.get_role_policy(RoleName=self.name, PolicyName=self.policy)
            return inline_policy["PolicyDocument"]  # type: ignore[no-any-return]
        return "{}"

    def _inline(self) -> list[str]:
        pages = self._iam.pages("list_role_policies", RoleName=self.name)
        return [name for page in pages for name in page["PolicyNames"]]

    def _attached(self) -> list[str]:
        pages = self._iam.pages("list_attached_role_policies", RoleName=self.name)
        return [each["PolicyArn"] for page in pages for each in page["AttachedPolicies"]]

    def _drop(self, policies: Sequence[str]) -> None:
        """Takes policies away; the ARN of one says that it is attached."""
        for policy in policies:
            with suppress(GoneError):
                if policy.startswith("arn:"):
                    self._iam.detach_role_policy(RoleName=self.name, PolicyArn=policy)
                else:
                    self._iam.delete_role_policy(RoleName=self.name, PolicyName=policy)
