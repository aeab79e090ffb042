"""The folder of one stack: what lies where in it, and the keys that are made at its first start."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from frazil.errors import ConfigureError


class Home:
    """Everything of one stack lies under an absolute path, `root`; two stacks have two roots."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.profile = root / "profile.json"  # what clients need to know, credentials included
        self.clouds = root / "clouds"  # there if the stack is started with clouds
        self.northwind = root / "northwind"  # there if it is started with Northwind's database
        self.administrator = root / "cloud.json"  # a profile: who may make everything in those clouds
        self.ports = root / "stack.json"  # the ports chosen, remembered from one start to the next
        self.lock = root / "stack.lock"  # held while parts are started or stopped
        self.running = root / "run"  # one file for each part that was started and not stopped
        self.logs = root / "logs"  # one for each part, and the log of its previous start
        self.secrets = root / "secrets"  # keys; nobody else may enter
        self.tls = root / "tls"  # certificates and their keys; only of a locked stack
        self.dagster = root / "dagster"  # DAGSTER_HOME
        self.scratch = root / "tmp"  # temporary files of the servers, emptied by nobody but `wipe`

    def data(self, part: str) -> Path:
        """The folder of one part's data; made if missing."""
        return _folder(self.root / "data" / part)

    def make(self) -> None:
        """Makes the folders that every part needs."""
        try:
            for folder in (self.root, self.secrets, self.running, self.logs, self.scratch):
                _folder(folder)
            self.root.chmod(0o700)  # it may have been there before
        except OSError as e:
            raise ConfigureError(
                "The folder of the stack can't be made.",
                where=str(e),
                todo="Set FRAZIL_HOME to a folder that you may write to.",
            ) from None

    def wipe(self) -> None:
        """Deletes all that a stack keeps, except its choice of ports."""
        for folder in (self.secrets, self.tls, self.running, self.logs, self.scratch, self.dagster):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.root / "data", ignore_errors=True)
        for file in (self.profile, self.clouds, self.northwind, self.administrator):
            file.unlink(missing_ok=True)


def template(name: str) -> str:
    """The settings file of one server, from the folder `templates` beside this module."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def write_private(path: Path, text: str, *, once: bool = False) -> None:
    """Writes a file in one step; only its owner can ever read it.

    With `once` a file is left alone that is there already, even if it came this instant.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mode 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    if once:
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        Path(draft).unlink()
    else:
        Path(draft).replace(path)


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@dataclass(frozen=True, slots=True)
class Credentials:
    """The key pair of an AWS user."""

    access_key: str
    secret_key: str
    region: str = "us-east-1"

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"

    @property
    def environment(self) -> dict[str, str]:
        """As AWS' clients read them from the environment."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
        }


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two PEM files: the private key is PKCS8 without a password, and readable by its owner only."""

    private: Path
    public: Path


def s3_credentials(home: Home) -> Credentials:
    """The key pair of the object storage's one user."""
    file = home.secrets / "s3"
    if not file.exists():
        keys = f"frazil{secrets.token_hex(8)}\n{secrets.token_urlsafe(30)}\n"
        write_private(file, keys, once=True)
    access_key, secret_key = file.read_text().split()
    return Credentials(access_key, secret_key)


def secret(home: Home, part: str) -> str:
    """What a part asks of its clients: letters, digits, `-` and `_`."""
    file = home.secrets / part
    if not file.exists():
        write_private(file, secrets.token_urlsafe(30), once=True)
    return file.read_text()


def snowflake_keys(home: Home) -> KeyPair:
    """The key pair with which clients log in to Snowflake."""
    pair = KeyPair(home.secrets / "snowflake_key.p8", home.secrets / "snowflake_key.pub")
    if not (pair.private.exists() and pair.public.exists()):
        _make_pair(pair)
    return pair


def _make_pair(pair: KeyPair) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa

    new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = new.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    write_private(pair.private, private.decode(), once=True)
    kept = form.load_pem_private_key(pair.private.read_bytes(), password=None)
    public = kept.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    write_private(pair.public, public.decode())
