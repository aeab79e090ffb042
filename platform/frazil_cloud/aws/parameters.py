"""The 17 parameters of Parameter Store that Kafka clients of a deployment start with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from frazil_cloud.aws.client import Aws, ThereError
from frazil_cloud.aws.mark import tag_list, tags
from frazil_cloud.resource import Facts, Known, RefusedYet
from frazil_cloud.spec.deployment import DeploymentSpec

_PAGE = 10  # names that one call deletes

CONSUMER: Mapping[str, str] = {
    "auto.commit.interval.ms": "1000",
    "auto.offset.reset": "",  # as the deployment says
    "basic.auth.credentials.source": "USER_INFO",
    "client.dns.lookup": "use_all_dns_ips",
    "enable.auto.commit": "true",
    "max.poll.interval.ms": "300000",
    "request.timeout.ms": "60000",
    "sasl.mechanism": "PLAIN",
    "security.protocol": "SASL_SSL",
    "session.timeout.ms": "90000",
}
PRODUCER: Mapping[str, str] = {
    "sasl.mechanism": "PLAIN",
    "security.protocol": "SASL_SSL",
    "client.dns.lookup": "use_all_dns_ips",
    "acks": "all",
    "transaction.timeout.ms": "60000",
    "compression.type": "gzip",
    "auto.create.topics.enable": "true",  # a broker's setting: clients ignore it, but the sources have it
}


@dataclass(frozen=True)
class Parameters:
    """`aws/parameters`. Other parameters below the same path are nobody's business."""

    aws: Aws
    spec: DeploymentSpec
    address: str = "aws/parameters"
    needs: tuple[str, ...] = ()
    fixed: ClassVar[frozenset[str]] = frozenset()

    def wanted(self, known: Known) -> Facts:
        """Their values, by the whole name of each."""
        return {"path": self._path, "values": self._values()}

    def read(self, known: Known) -> Facts | None:
        """The values of those that exist; None if none exists."""
        there = parameters(self.aws, self._path)
        values = {name: there[name] for name in self._values() if name in there}
        return {"path": self._path, "values": values} if values else None

    def create(self, known: Known) -> None:
        """Makes all of them."""
        self._put(list(self._values()))

    def update(self, there: Facts, known: Known) -> None:
        """Makes those that lack, and overwrites those that differ."""
        self._put([name for name, value in self._values().items() if there["values"].get(name) != value])

    def delete(self, there: Facts, known: Known) -> None:
        """Removes them."""
        names = list(there["values"])
        for start in range(0, len(names), _PAGE):
            self._ssm.delete_parameters(Names=names[start : start + _PAGE])

    def verify(self, there: Facts, known: Known) -> None:
        """Reads them back by their path, all pages."""
        if missing := sorted(self._values().keys() - parameters(self.aws, self._path).keys()):
            raise RefusedYet(f"Parameter Store does not give {', '.join(missing)}")

    @property
    def _path(self) -> str:
        return self.spec.names.parameters

    @property
    def _ssm(self) -> Any:
        return self.aws.client("ssm")

    def _values(self) -> dict[str, str]:
        consumer = {**CONSUMER, "auto.offset.reset": self.spec.aws.auto_offset_reset}
        groups = {"consumer_kafka_client": consumer, "producer_kafka_client": PRODUCER}
        return {f"{self._path}/{group}/{key}": v for group, all_ in groups.items() for key, v in all_.items()}

    def _put(self, names: Sequence[str]) -> None:
        for name in names:
            arguments = {"Name": name, "Value": self._values()[name], "Type": "String"}
            try:
                self._ssm.put_parameter(**arguments, Tags=tag_list(tags(self.spec)))
            except ThereError:  # tags can't be given with Overwrite
                self._ssm.put_parameter(**arguments, Overwrite=True)


def parameters(aws: Aws, path: str) -> dict[str, str]:
    """All parameters below a path, by name. One answer has ten: without paging the eleventh is lost (D14)."""
    pages = aws.client("ssm").pages("get_parameters_by_path", Path=path, Recursive=True, WithDecryption=True)
    return {each["Name"]: each["Value"] for page in pages for each in page["Parameters"]}
