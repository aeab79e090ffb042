"""A stand-in that starts again knows what it knew."""

from __future__ import annotations

from pathlib import Path

from frazil_local.cloud.confluent.organization import ENVIRONMENTS, KEYS, Organization, Places
from kit.clouds.cloud_confluent import KEY, SECRET


def test_an_organization_outlives_its_process_in_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    places = Places("http://127.0.0.1:1", state=tmp_path / "organization.json")
    before = Organization(places)
    before.admit(KEY, SECRET)
    before.add(ENVIRONMENTS, "env-1", {"id": "env-1"})
    before.add(KEYS, "ABC", {"id": "ABC", "spec": {"secret": "a secret"}})
    before.save()
    after = Organization(places)
    after.recall()
    assert after.objects == before.objects
    assert (tmp_path / "organization.json").stat().st_mode & 0o077 == 0
