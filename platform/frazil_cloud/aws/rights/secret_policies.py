"""Who else may read a deployment's secrets: a policy of a secret's own lets others in, of any account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from frazil_cloud.aws.client import Aws, GoneError
from frazil_cloud.aws.rights.policies import canonical
from frazil_cloud.resource import Facts, GoesWithAnother, Known
from frazil_cloud.spec.deployment import DeploymentSpec

_USER = "snowflake/user"


@dataclass(frozen=True)
class SecretPolicies:
    """`aws/secret_policies`. The deployment gives none: who reads its secrets has a role that may."""

    aws: Aws
    spec: DeploymentSpec
    address: str = "aws/secret_policies"
    fixed: ClassVar[frozenset[str]] = frozenset()

    @property
    def needs(self) -> tuple[str, ...]:
        """Those with which the secrets are made."""
        keys = (f"confluent/key/{use}" for use in self._uses)
        return (*keys, *((_USER,) if self.spec.snowflake else ()))

    def wanted(self, known: Known) -> Facts:
        """None."""
        return {"policies": {}}

    def read(self, known: Known) -> Facts | None:
        """The statements of each, by the name of the secret; None where no secret is."""
        policies = dict(self._policies())
        return (
            {"policies": {name: statements for name, statements in policies.items() if statements}}
            if policies
            else None
        )

    def create(self, known: Known) -> None:
        """Nothing is made."""

    def update(self, there: Facts, known: Known) -> None:
        """Takes them away."""
        for name in there["policies"]:
            with suppress(GoneError):
                self._api.delete_resource_policy(SecretId=name)

    def delete(self, there: Facts, known: Known) -> None:
        """They go with their secrets."""
        raise GoesWithAnother

    def verify(self, there: Facts, known: Known) -> None:
        """Proves nothing: there are none."""

    @property
    def _api(self) -> Any:
        return self.aws.client("secretsmanager")

    @property
    def _uses(self) -> tuple[Any, ...]:
        return self.spec.confluent.key_uses if self.spec.confluent else ()

    def _names(self) -> Iterator[str]:
        names = self.spec.names
        for use in self._uses:
            yield from filter(None, (names.secret(use), names.twin(use)))
        if self.spec.snowflake:
            yield names.snowflake_secret

    def _policies(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for name in self._names():
            with suppress(GoneError):
                answer = self._api.get_resource_policy(SecretId=name)
                yield name, canonical(answer.get("ResourcePolicy") or "{}")
