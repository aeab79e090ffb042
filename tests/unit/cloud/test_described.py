"""DESC of a REST catalog nests properties, as the SDK of Snowflake's Terraform provider reads them."""

from __future__ import annotations

import pytest

from frazil.errors import MissingError
from frazil_cloud.snowflake.described import described

ROWS = [
    {"property": "ENABLED", "property_value": "true"},
    {
        "property": "REST_CONFIG",
        "property_value": "{CATALOG_URI=http://a?b=c, PREFIX=null, CATALOG_NAME=lake}",
    },
    {
        "property": "REST_AUTHENTICATION",
        "property_value": "{TYPE=OAUTH, OAUTH_ALLOWED_SCOPES=[PRINCIPAL_ROLE:ALL, b], OAUTH_CLIENT_ID=i}",
    },
]
TOLD = described("CATALOG INTEGRATION X", ROWS)


def test_properties_are_read_at_each_depth() -> None:
    assert TOLD.text("ENABLED") == "true"
    assert TOLD.text("REST_CONFIG", "CATALOG_URI") == "http://a?b=c"
    assert TOLD.text("REST_CONFIG", "PREFIX") == ""
    assert TOLD.text("REST_AUTHENTICATION", "OAUTH_CLIENT_ID") == "i"
    assert TOLD.texts("REST_AUTHENTICATION", "OAUTH_ALLOWED_SCOPES") == ["PRINCIPAL_ROLE:ALL", "b"]


@pytest.mark.parametrize(
    "path",
    [("CATALOG_NAMESPACE",), ("REST_CONFIG", "SIGV4_IAM_ROLE"), ("NONE", "TYPE"), ("ENABLED", "TYPE")],
)
def test_what_is_not_told_is_an_error_and_never_as_wanted(path: tuple[str, ...]) -> None:
    with pytest.raises(MissingError, match=rf"tells no {'.'.join(path)} of the CATALOG INTEGRATION X"):
        TOLD.text(*path)
