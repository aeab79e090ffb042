"""The bucket of a deployment's tables: private, encrypted, by TLS only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from frazil.errors import ConfigureError
from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.aws.mark import foreign, is_ours, own_tags, tag_dict, tag_list, tags
from frazil_cloud.aws.proof import try_objects
from frazil_cloud.aws.rights.policies import canonical, document
from frazil_cloud.resource import Facts, Known, NotYet, RefusedYet
from frazil_cloud.spec.deployment import DeploymentSpec

_PRIVATE = dict.fromkeys(
    ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
)
_RULE = "frazil-abort-multipart"
_DAYS = 7
_ANOTHER = "Choose another name for `aws.bucket` in the deployment."


@dataclass(frozen=True)
class Bucket:
    """`aws/bucket`. Its name is unique in the world, so it is an input. Others' buckets are never touched."""

    aws: Aws
    spec: DeploymentSpec
    address: str = "aws/bucket"
    needs: tuple[str, ...] = ()
    fixed: ClassVar[frozenset[str]] = frozenset({"region"})

    @property
    def name(self) -> str:
        """The name of the bucket."""
        return self.spec.aws.bucket

    def wanted(self, known: Known) -> Facts:
        """Its settings."""
        return {
            "name": self.name,
            "arn": f"arn:aws:s3:::{self.name}",
            "region": self.aws.region,
            "tags": tags(self.spec),
            "private": _PRIVATE,
            "ownership": ["BucketOwnerEnforced"],
            "encryption": ["AES256"],
            "policy": canonical([self._by_tls_only]),
            "abort_multipart_days": _DAYS,
        }

    def read(self, known: Known) -> Facts | None:
        """Its settings; None where it is somebody else's. An empty one without tags is one that was begun."""
        if not self._exists():
            return None
        existing_tags = self._tags()
        if not is_ours(self.spec, existing_tags) and (
            existing_tags or any(object_keys(self.aws, self.name, 1))
        ):
            return None
        with suppress(GoneError):
            return {
                "name": self.name,
                "arn": f"arn:aws:s3:::{self.name}",
                "tags": own_tags(self.spec, existing_tags),
                **self._settings(),
            }
        return None

    def create(self, known: Known) -> None:
        """Makes it; `update` sets it up."""
        if self._exists():
            raise foreign(self.spec, f"The bucket {self.name}", _ANOTHER)
        place = {} if self.aws.region == "us-east-1" else {"LocationConstraint": self.aws.region}
        options = {"CreateBucketConfiguration": place} if place else {}
        try:
            self._s3.create_bucket(Bucket=self.name, **options)
        except ThereError:
            if self._exists():
                raise NotYet(f"the bucket {self.name} was not seen") from None
            raise ConfigureError(
                f"The bucket {self.name} belongs to another account.",
                meaning="Nothing was made.",
                todo=_ANOTHER,
            ) from None

    def update(self, there: Facts, known: Known) -> None:
        """Sets it up; rules of its lifecycle that others made stay."""
        s3, bucket = self._s3, {"Bucket": self.name}
        s3.put_bucket_tagging(**bucket, Tagging={"TagSet": tag_list({**self._tags(), **tags(self.spec)})})
        s3.put_public_access_block(**bucket, PublicAccessBlockConfiguration=_PRIVATE)
        own = [{"ObjectOwnership": "BucketOwnerEnforced"}]
        s3.put_bucket_ownership_controls(**bucket, OwnershipControls={"Rules": own})
        encrypt = [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
        s3.put_bucket_encryption(**bucket, ServerSideEncryptionConfiguration={"Rules": encrypt})
        s3.put_bucket_policy(**bucket, Policy=document([self._by_tls_only]))
        abort = {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": _DAYS}}
        rule = {"ID": _RULE, "Status": "Enabled", "Filter": {"Prefix": ""}, **abort}
        rules = [*(each for each in self._rules() if each.get("ID") != _RULE), rule]
        s3.put_bucket_lifecycle_configuration(**bucket, LifecycleConfiguration={"Rules": rules})

    def delete(self, there: Facts, known: Known) -> None:
        """Empties it of all versions, delete markers and unfinished uploads, and removes it."""
        with suppress(GoneError):
            while doomed := self._versions():
                gone = self._s3.delete_objects(Bucket=self.name, Delete={"Objects": doomed, "Quiet": True})
                if errors := gone.get("Errors"):
                    raise RefusedYet(f"S3 does not delete {errors[0]['Key']}: {errors[0]['Message']}")
            for page in self._s3.pages("list_multipart_uploads", Bucket=self.name):
                for upload in page.get("Uploads", []):
                    at = {"Key": upload["Key"], "UploadId": upload["UploadId"]}
                    self._s3.abort_multipart_upload(Bucket=self.name, **at)
            self._s3.delete_bucket(Bucket=self.name)

    def verify(self, there: Facts, known: Known) -> None:
        """Writes, reads and deletes an object."""
        try_objects(self.aws.client("s3"), self.name, self.spec.aws.folder)

    @property
    def _s3(self) -> Any:
        return self.aws.client("s3")

    @property
    def _by_tls_only(self) -> dict[str, Any]:
        arn = f"arn:aws:s3:::{self.name}"
        plain = {"Bool": {"aws:SecureTransport": "false"}}
        deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Condition": plain}
        return {"Sid": "ByTlsOnly", **deny, "Resource": [arn, f"{arn}/*"]}

    def _exists(self) -> bool:
        pages = self._s3.pages("list_buckets", Prefix=self.name)
        return any(each["Name"] == self.name for page in pages for each in page["Buckets"])

    def _tags(self) -> dict[str, str]:
        with suppress(GoneError):
            return tag_dict(self._s3.get_bucket_tagging(Bucket=self.name)["TagSet"])
        return {}

    def _settings(self) -> dict[str, Any]:
        block = self._asked("get_public_access_block").get("PublicAccessBlockConfiguration", {})
        own = self._asked("get_bucket_ownership_controls").get("OwnershipControls", {"Rules": []})
        encrypt = self._asked("get_bucket_encryption").get("ServerSideEncryptionConfiguration", {"Rules": []})
        defaults = [each.get("ApplyServerSideEncryptionByDefault", {}) for each in encrypt["Rules"]]
        abort = [each["AbortIncompleteMultipartUpload"] for each in self._rules() if each.get("ID") == _RULE]
        return {
            "region": self._s3.get_bucket_location(Bucket=self.name).get("LocationConstraint") or "us-east-1",
            "private": block,
            "ownership": [each["ObjectOwnership"] for each in own["Rules"]],
            "encryption": [each.get("SSEAlgorithm") for each in defaults],
            "policy": canonical(self._asked("get_bucket_policy").get("Policy", "{}")),
            "abort_multipart_days": abort[0]["DaysAfterInitiation"] if abort else None,
        }

    def _rules(self) -> list[dict[str, Any]]:
        return list(self._asked("get_bucket_lifecycle_configuration").get("Rules", []))

    def _asked(self, name: str) -> dict[str, Any]:
        """The answer of a call about one setting; empty where it is not set."""
        with suppress(GoneError):
            return dict(getattr(self._s3, name)(Bucket=self.name))
        return {}

    def _versions(self) -> list[dict[str, str]]:
        """The first page of versions and delete markers."""
        page = self._s3.list_object_versions(Bucket=self.name)
        versions = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        return [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]


def object_keys(aws: Aws, bucket: str, page: int = 1000) -> Iterator[str]:
    """All keys in a bucket, also those of which an older version alone is left; asked for by pages."""
    asked: dict[str, Any] = {"Bucket": bucket, "MaxKeys": page}
    while True:
        versions = aws.client("s3").list_object_versions(**asked)
        yield from (
            each["Key"] for each in (*versions.get("Versions", []), *versions.get("DeleteMarkers", []))
        )
        if not versions.get("IsTruncated"):
            return
        asked |= {"KeyMarker": versions["NextKeyMarker"], "VersionIdMarker": versions["NextVersionIdMarker"]}
