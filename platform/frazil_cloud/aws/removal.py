"""What a deployment had at AWS under another name, as its database in Glue notes."""

from __future__ import annotations

from collections.abc import Iterator

from frazil_cloud.aws.bucket import Bucket
from frazil_cloud.aws.glue import GlueDatabase, former_names
from frazil_cloud.aws.rights.reader import ReaderRole
from frazil_cloud.aws.rights.writer import WriterRole
from frazil_cloud.clouds import Clouds
from frazil_cloud.resource import Known, Resource
from frazil_cloud.spec.deployment import DeploymentSpec

_KINDS = {"bucket": Bucket, "writer_role": WriterRole, "reader_role": ReaderRole}


def former(spec: DeploymentSpec, clouds: Clouds, known: Known) -> list[Resource]:
    """Buckets and roles that got another name, or that nothing needs any more."""
    glue = GlueDatabase(clouds.aws, spec)
    if glue.address not in known:
        return []
    return list(_former(spec, clouds, former_names(glue.wanted(known), known[glue.address])))


def _former(spec: DeploymentSpec, clouds: Clouds, names: list[tuple[str, str]]) -> Iterator[Resource]:
    for kind, name in names:
        had = spec.model_copy(update={"aws": spec.aws.model_copy(update={kind: name})})
        yield _KINDS[kind](clouds.aws, had, address=f"aws/{kind}/{name}")
