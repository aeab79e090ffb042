"""One identity at AWS for Glue, S3 and secrets; it is renewed, and each refusal names the setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.tables.catalogs.catalog import catalog_errors, open_catalog
from kit.logins.sts import BASE, EXTERNAL_ID, ROLE, WEB_TOKEN, Sts, token_service
from kit.wires.gate import gate
from kit.wires.lying import glue_in_process

KEYS = {"access_key": BASE, "secret_key": "planted"}
TAKEN = {**KEYS, "role_arn": ROLE, "external_id": EXTERNAL_ID}
REFUSED = (400, {"x-amzn-errortype": "ExpiredTokenException"}, b'{"__type": "ExpiredTokenException"}')


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Glue and S3 in this process, open to all."""
    with glue_in_process(tmp_path_factory.mktemp("aws")) as url:
        credentials = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=url, **credentials).create_bucket(Bucket="lake")
        yield url


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sts]:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with token_service() as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        yield sts


@pytest.fixture
def as_told(aws: str, sts: Sts) -> Iterator[Callable[..., Settings]]:
    """Settings of an identity; Glue and S3 let in only who has keys of the role that hold."""
    with gate(aws, sts.knows, refusal=REFUSED) as url:

        def settings_with(**identity: Any) -> Settings:
            at = {"endpoint": url}
            return Settings.load(
                catalog="glue", aws=identity, s3=at, glue={**at, "warehouse": "s3://lake/warehouse"}
            )

        yield settings_with


def use(settings: Settings) -> None:
    with catalog_errors(settings):
        open_catalog(settings).list_namespaces()


def test_glue_and_s3_are_asked_by_the_keys_of_the_role_and_go_on_when_these_have_ended(
    as_told: Callable[..., Settings], sts: Sts
) -> None:
    catalog = open_catalog(as_told(**TAKEN, session_name="nightly"))
    catalog.create_namespace("identity")
    table = catalog.create_table("identity.t", Schema(NestedField(1, "id", LongType())))
    sts.holding.clear()

    table.append(table.scan().to_arrow())
    sts.holding.clear()

    assert len(table.io.new_input(table.metadata_location)) > 0
    assert len(catalog.load_table("identity.t").snapshots()) == 1
    assert {(r["RoleArn"], r["ExternalId"], r["RoleSessionName"]) for r in sts.asked} == {
        (ROLE, EXTERNAL_ID, "nightly")
    }


def test_a_web_identity_takes_on_the_role_without_any_key(
    as_told: Callable[..., Settings], sts: Sts, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(WEB_TOKEN)

    use(as_told(role_arn=ROLE, web_identity_token_file=tmp_path / "token"))

    assert [request["Action"] for request in sts.asked[:1]] == ["AssumeRoleWithWebIdentity"]


def test_a_profile_of_aws_own_files_may_hold_the_keys(
    as_told: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(
        f"[profile team]\naws_access_key_id = {BASE}\naws_secret_access_key = planted\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))

    use(as_told(profile="team", role_arn=ROLE, external_id=EXTERNAL_ID))


def test_keys_that_end_are_told_with_their_token(as_told: Callable[..., Settings], sts: Sts) -> None:
    sts.holding["ASIAOWN"] = "own-token"

    use(as_told(access_key="ASIAOWN", secret_key="s", session_token="own-token"))


@pytest.mark.parametrize(
    ("identity", "setting"),
    [
        ({**TAKEN, "external_id": "wrong"}, "FRAZIL_AWS__EXTERNAL_ID"),
        ({**KEYS, "role_arn": ROLE}, "FRAZIL_AWS__EXTERNAL_ID"),
        ({**TAKEN, "access_key": "AKIAOTHER"}, "FRAZIL_AWS__ACCESS_KEY"),
        ({**KEYS, "session_token": "it-has-ended"}, "FRAZIL_AWS__SESSION_TOKEN"),
        ({"profile": "nobody-made-it"}, "FRAZIL_AWS__PROFILE"),
        ({}, "FRAZIL_AWS__PROFILE"),
        ({"role_arn": ROLE}, "FRAZIL_AWS__PROFILE"),
        ({"role_arn": ROLE, "web_identity_token_file": "/nowhere"}, "FRAZIL_AWS__WEB_IDENTITY_TOKEN_FILE"),
        ({"role_arn": ROLE, "web_identity_token_file": __file__}, "FRAZIL_AWS__WEB_IDENTITY_TOKEN_FILE"),
    ],
    ids=[
        "wrong external id", "no external id", "unknown key", "ended token", "unknown profile", "nobody",
        "nobody to take on a role", "no web token", "wrong web token",
    ],
)  # fmt: skip
def test_a_refusal_names_the_setting_and_shows_no_secret(
    as_told: Callable[..., Settings], identity: dict[str, Any], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    settings = as_told(**identity)

    with pytest.raises(ConfigureError, match=setting) as refusal:
        use(settings)

    assert not any(
        secret in f"{refusal.value} {settings!r}" for secret in ("planted", EXTERNAL_ID, WEB_TOKEN)
    )


def test_requests_name_the_catalog_of_another_account(as_told: Callable[..., Settings], sts: Sts) -> None:
    settings_taken = as_told(**TAKEN).with_changes(glue={"catalog_id": "210987654321"})
    named: list[dict[str, Any]] = []
    client = open_catalog(settings_taken).glue  # type: ignore[attr-defined]
    client.meta.events.register("before-parameter-build.glue", lambda params, **_: named.append(dict(params)))

    client.get_databases()

    assert [params["CatalogId"] for params in named] == ["210987654321"]


def test_a_rest_catalog_is_asked_with_signatures_of_the_role(sts: Sts) -> None:
    signed: list[bool] = []

    def note(headers: Mapping[str, str]) -> bool:
        signed.append(sts.knows(headers) and "/eu-west-1/glue/aws4_request" in headers["Authorization"])
        return False

    answer = (
        200,
        {"Content-Type": "application/json"},
        b'{"defaults": {}, "overrides": {}, "namespaces": []}',
    )
    with gate("http://127.0.0.1:1", note, refusal=answer) as url:
        rest = {"uri": url, "signing_name": "glue"}
        catalog = open_catalog(Settings.load(rest=rest, aws=TAKEN | {"region": "eu-west-1"}))
        sts.holding.clear()
        catalog.list_namespaces()

    assert signed == [True, True]


def test_secrets_that_aws_keeps_are_asked_for_by_the_same_identity(
    aws: str, sts: Sts, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "eu-west-1"}
    boto3.client("ssm", endpoint_url=aws, **login).put_parameter(Name="/login", Value="a:b", Type="String")
    settings_given = {"aws": TAKEN | {"region": "eu-west-1"}, "registry": {"user_info": "aws-ssm:/login"}}
    with gate(aws, sts.knows, refusal=REFUSED) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", url)

        assert revealed(Settings.load(**settings_given).registry.user_info) == "a:b"
        with pytest.raises(ConfigureError, match=r"registry.user_info.*AccessDenied"):
            Settings.load(**settings_given | {"aws": TAKEN | {"external_id": "wrong"}})


def test_keys_that_are_kept_at_aws_are_asked_for_by_its_own_chain(
    aws: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ACCESS_KEY_ID": "x",
        "SECRET_ACCESS_KEY": "x",
        "DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", aws)
    boto3.client("ssm").put_parameter(Name="/key", Value="kept", Type="String")

    settings = Settings.load(aws={"access_key": "AKIA", "secret_key": "aws-ssm:/key"})

    assert revealed(settings.aws.secret_key) == "kept"


def test_without_an_identity_a_catalog_that_wants_signatures_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(ConfigureError, match="AWS does not know who asks"):
        open_catalog(Settings.load(rest={"uri": "http://127.0.0.1:1"}))
