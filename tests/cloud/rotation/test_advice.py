"""What errors about Snowflake's keys advise is done, and comes out right: the key in use goes on working."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from frazil.errors import ConfigureError
from kit.deployments.rotations import RsaLab


def test_the_number_of_the_key_that_desc_user_shows_lets_it_be_turned(lab: RsaLab) -> None:
    lab.keys().turn()
    in_use = lab.pair_in_use()
    lab.store.put_secret_value(
        SecretId=lab.secret, SecretString=json.dumps({**lab.stored_values(), "active_key_number": "0"})
    )
    with pytest.raises(ConfigureError, match="which key is in use") as raised:
        lab.keys().turn()
    assert "whose fingerprint DESC USER shows" in raised.value.todo

    shown = lab.service_user.fingerprints()
    number = next(str(slot) for slot, fingerprint in shown.items() if fingerprint == in_use.fingerprint)
    lab.store.put_secret_value(
        SecretId=lab.secret, SecretString=json.dumps({**lab.stored_values(), "active_key_number": number})
    )
    lab.keys().turn()

    assert lab.logs_in(lab.pair_in_use())
    assert lab.logs_in(in_use)  # clients that read it before go on until the next turn


@pytest.mark.each_time("no key")
@pytest.mark.parametrize(
    ("spoil", "expected", "todo"),
    [
        (lambda _: "not { json", "no JSON object", "AWSPREVIOUS"),
        (
            lambda contents: json.dumps({**contents, "snowflake_rsa_private_key_1_pem": "planted!"}),
            "no private RSA key",
            "It must be PEM",
        ),
    ],
    ids=["no JSON", "no key"],
)
def test_the_version_before_is_brought_back_and_turned(
    lab: RsaLab, spoil: Callable[[dict[str, str]], str], expected: str, todo: str
) -> None:
    lab.store.put_secret_value(SecretId=lab.secret, SecretString=spoil(lab.stored_values()))
    with pytest.raises(ConfigureError, match=expected) as raised:
        lab.keys().turn()
    assert todo in raised.value.todo

    good = lab.store.get_secret_value(SecretId=lab.secret, VersionStage="AWSPREVIOUS")["SecretString"]
    lab.store.put_secret_value(SecretId=lab.secret, SecretString=good)
    lab.keys().turn()

    assert lab.logs_in(lab.pair_in_use())
    assert lab.logs_in(lab.first)
