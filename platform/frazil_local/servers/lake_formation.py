"""Lake Formation's tags as the stand-in keeps them, as long as it runs: moto, which would let too much pass.

moto forgets a table's other tags when one is added, takes values that a tag does not have, fails at a table
without tags, and asks nobody for a right. Here rights count as soon as the data lake has administrators
(`PutDataLakeSettings`): who is none needs ASSOCIATE on a tag, by `GrantPermissions`. A user is called
`arn:aws:iam::<account>:user/<access key>`.
"""

from __future__ import annotations

import json
import threading
from typing import Any, ClassVar

from moto.core.exceptions import JsonRESTError
from moto.glue.models import glue_backends
from moto.lakeformation import urls
from moto.lakeformation.exceptions import EntityNotFound
from moto.lakeformation.models import lakeformation_backends
from moto.lakeformation.responses import LakeFormationResponse

from frazil_local.servers.glue_model import refusals

_Tag = dict[str, Any]


def keep_tags() -> None:
    """Makes moto serve `StrictLakeFormation`."""
    for path in urls.url_paths:
        urls.url_paths[path] = StrictLakeFormation.dispatch


def forget_tags(account: str, region: str, database: str, table: str) -> None:
    """Those of a table that is gone; one that is made in its place begins without."""
    lakeformation_backends[account][region].lf_table_tags.pop((account, database, table), None)


class StrictLakeFormation(LakeFormationResponse):
    """Each request under one lock; the words of its refusals are AWS' own where they are known."""

    _lock: ClassVar = threading.RLock()

    def call_action(self) -> Any:
        """Answers a request, unless botocore's model of Lake Formation does not allow it."""
        if refused := refusals(self._get_action(), json.loads(self.body or "{}"), "lakeformation"):
            raise JsonRESTError("InvalidInputException", "; ".join(refused)[:2000])
        with self._lock:
            return super().call_action()

    def add_lf_tags_to_resource(self) -> str:
        """Of a table: those tags stay that are not named, and nothing is done where one can't be added."""
        if "Table" not in self._get_param("Resource"):
            return super().add_lf_tags_to_resource()
        table, tags = self._table(), self._tags()
        unknown = [tag for tag in tags if not self._is_known(tag)]
        if unknown:
            return _failures(unknown, "EntityNotFoundException", "Tag or tag value does not exist.")
        self._ask_for_rights(tags)
        kept = {tag["TagKey"]: tag for tag in [*self._kept(table), *tags]}
        self.lakeformation_backend.lf_table_tags[table] = list(kept.values())
        return json.dumps({"Failures": []})

    def remove_lf_tags_from_resource(self) -> str:
        """Of a table: a tag that it does not have is a failure."""
        if "Table" not in self._get_param("Resource"):
            return super().remove_lf_tags_from_resource()
        table, tags = self._table(), self._tags()
        kept = self._kept(table)
        if missing := [tag for tag in tags if tag not in kept]:
            return _failures(missing, "EntityNotFoundException", "Tag or tag value does not exist.")
        self._ask_for_rights(tags)
        self.lakeformation_backend.lf_table_tags[table] = [tag for tag in kept if tag not in tags]
        return json.dumps({"Failures": []})

    def get_resource_lf_tags(self) -> str:
        """Of a table: also of one that never had any."""
        if "Table" not in self._get_param("Resource"):
            return super().get_resource_lf_tags()
        kept = self._kept(self._table())
        return json.dumps({"LFTagsOnTable": kept} if kept else {})

    def _table(self) -> tuple[str, str, str]:
        """Account, database and name of the table that is asked for."""
        asked = self._get_param("Resource")["Table"]
        account = asked.get("CatalogId") or self.current_account
        databases = glue_backends[account][self.region].databases
        if asked["DatabaseName"] not in databases:
            raise EntityNotFound
        if asked["Name"] not in databases[asked["DatabaseName"]].tables:
            raise EntityNotFound
        return account, asked["DatabaseName"], asked["Name"]

    def _tags(self) -> list[_Tag]:
        """Those of the request, in small letters."""
        return [
            {
                "CatalogId": tag.get("CatalogId") or self.current_account,
                "TagKey": tag["TagKey"].lower(),
                "TagValues": [value.lower() for value in tag["TagValues"]],
            }
            for tag in self._get_param("LFTags")
        ]

    def _kept(self, table: tuple[str, str, str]) -> list[_Tag]:
        return list(self.lakeformation_backend.lf_table_tags.get(table, ()))

    def _is_known(self, tag: _Tag) -> bool:
        values = self.lakeformation_backend.get_lf_tag(tag["CatalogId"], tag["TagKey"])
        return set(tag["TagValues"]) <= set(values)

    def _ask_for_rights(self, tags: list[_Tag]) -> None:
        """Where AWS says no, it says by these words what is required; those of tags were not seen."""
        backend, account = self.lakeformation_backend, self.current_account
        key = self.headers.get("Authorization", "").partition("Credential=")[2].split("/")[0]
        user = f"arn:aws:iam::{account}:user/{key}"  # moto itself knows keys of 20 letters only
        principal = {"DataLakePrincipalIdentifier": user}
        administrators = backend.get_data_lake_settings(account).get("DataLakeAdmins") or []
        if not administrators or principal in administrators:
            return
        granted = {
            grant["Resource"].get("LFTag", {}).get("TagKey")
            for grant in backend.list_permissions(account, principal=principal)
            if "ASSOCIATE" in grant["Permissions"]
        }
        if lacking := [tag["TagKey"] for tag in tags if tag["TagKey"] not in granted]:
            text = f"Insufficient Lake Formation permission(s): Required Associate on {lacking[0]}"
            raise JsonRESTError("AccessDeniedException", text)


def _failures(tags: list[_Tag], code: str, text: str) -> str:
    error = {"ErrorCode": code, "ErrorMessage": text}
    return json.dumps({"Failures": [{"LFTag": tag, "Error": error} for tag in tags]})
