"""`python -m frazil.local.snowflake`: runs the stand-in on 127.0.0.1 until it is told to stop."""

from __future__ import annotations

import sys

import uvicorn
from pydantic import ValidationError

from frazil.local.snowflake.account import Account
from frazil.local.snowflake.config import Config
from frazil.local.snowflake.engine import open_fakesnow
from frazil.local.snowflake.iceberg import IcebergTables
from frazil.local.snowflake.objects import Objects
from frazil.local.snowflake.server import StandIn
from frazil.local.snowflake.users import seed_account


def _main() -> int:
    """Serves until SIGTERM; answers 2 if the environment does not say what it must."""
    try:
        config = Config()
    except ValidationError as e:
        problems = "; ".join(f"{p['loc'][0]}: {p['msg']}" for p in e.errors())
        sys.stderr.write(f"The Snowflake stand-in can't start: {problems}\n")
        return 2
    _serve(config)
    return 0


def _serve(config: Config) -> None:
    """Opens the state, serves, and closes the state so that nothing is left to recover."""
    config.state.mkdir(parents=True, exist_ok=True)
    objects = Objects(config.state / "account.sqlite")
    seed_account(objects, config)
    fakesnow = open_fakesnow(config)
    account = Account(config, objects, IcebergTables(config, objects, fakesnow))
    application = StandIn(account, objects, fakesnow).application()
    try:
        uvicorn.run(application, host="127.0.0.1", port=config.port, log_level="warning", access_log=False)
    finally:
        fakesnow.duck_conn.close()
        objects.close()


if __name__ == "__main__":
    sys.exit(_main())
