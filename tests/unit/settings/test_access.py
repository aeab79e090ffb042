"""What proves who Frazil is: mistakes in it are named by their setting, before any server is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.errors import ConfigureError
from frazil.formats.registry.client import registry_client
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog

OPENED: dict[str, Callable[[Settings], object]] = {"registry": registry_client, "rest": open_catalog}


@pytest.mark.parametrize("system", OPENED)
@pytest.mark.parametrize("missing", ["ca", "certificate", "key"])
def test_a_file_of_certificates_that_is_not_there_is_named_with_its_setting(
    system: str, missing: str, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "certificate", "key")}
    for name, file in files.items():
        if name != missing:
            file.write_text("of the tests")
    settings = Settings.load(**{system: files}, aws={"access_key": "key", "secret_key": "secret"})

    with pytest.raises(ConfigureError, match=rf"{missing}\.pem") as raised:
        OPENED[system](settings)

    assert f"FRAZIL_{system.upper()}__{missing.upper()}" in raised.value.todo


def test_a_login_of_the_registry_without_a_colon_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigureError, match="with a colon between them") as raised:
        Settings.load(registry={"user_info": "planted-secret"})

    assert "planted-secret" not in str(raised.value)
