"""The Snowflake stand-in, `python -m frazil_local.snowflake.server`, on 127.0.0.1 until it is told to stop.

It speaks Snowflake's protocol over HTTP: login, our own statements, and fakesnow for all other SQL.
"""

from __future__ import annotations

import gzip
import json
import secrets
import sys
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import uvicorn
from fakesnow.expr import normalise_ident
from fakesnow.server import ServerError, query_request, routes, sessions, to_conn, to_token
from fakesnow.transforms import SERVER_VERSION
from pydantic import ValidationError
from sqlglot import parse_one
from sqlglot.errors import SqlglotError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from frazil.errors import MALFORMED
from frazil_local.cloud.faults import Call, Faulty
from frazil_local.snowflake.access import OwnKey, access_of
from frazil_local.snowflake.account import Account, Parts
from frazil_local.snowflake.answers import Refused, Result, failure, success, syntax_error
from frazil_local.snowflake.config import Config
from frazil_local.snowflake.engine import merged, open_fakesnow, own_cursor
from frazil_local.snowflake.iceberg.linked import LinkedDatabases
from frazil_local.snowflake.iceberg.tables import IcebergTables
from frazil_local.snowflake.knobs import Knobs
from frazil_local.snowflake.language.parsing import is_merge
from frazil_local.snowflake.language.statements import DropDatabase, Statement, Use
from frazil_local.snowflake.language.tokens import parse_name
from frazil_local.snowflake.objects import Objects, Stored
from frazil_local.snowflake.rights.session import Session
from frazil_local.snowflake.rights.users import LoginRefused, login, login_by_oauth, seed_account
from frazil_local.snowflake.strict import StrictAccount

_BAD_PASSWORD = "390100"  # noqa: S105  # the number of an error
_BAD_ROLE = "390189"
_VALID = 3600
"""Seconds for which Snowflake takes a session's token; the master token, which renews it, lives longer."""
_KEPT_ANSWERS = 20
_KEPT_RESULTS = 100  # fakesnow keeps every result for RESULT_SCAN, for ever


class StandIn:
    """The routes of one stand-in: the account carries out our own statements, fakesnow the rest."""

    def __init__(self, account: Account, objects: Objects, fakesnow: Any, knobs: Knobs) -> None:
        self._account = account
        self._objects = objects
        self._fakesnow = fakesnow
        self._knobs = knobs
        self._sessions: dict[str, Session] = {}
        self._answers: dict[str, JSONResponse] = {}

    def application(self) -> ASGIApp:
        """Our routes before those of fakesnow, behind the knobs for faults."""
        own = [
            Route("/health", self._health, methods=["GET"]),
            Route("/session/v1/login-request", self._login, methods=["POST"]),
            Route("/queries/v1/query-request", self._query, methods=["POST"]),
        ]
        return Faulty(Starlette(routes=[*own, *routes]), self._knobs, _name_of, _refused)

    async def _health(self, request: Request) -> JSONResponse:
        def query() -> None:
            with own_cursor(self._fakesnow) as cursor:
                cursor.execute("select 1").fetchall()

        await run_in_threadpool(query)
        return JSONResponse({"status": "ok"})

    async def _login(self, request: Request) -> JSONResponse:
        data = (await _body(request))["data"]
        if data.get("AUTHENTICATOR") not in ("SNOWFLAKE_JWT", "OAUTH"):
            return _denied(_BAD_PASSWORD, "Incorrect username or password was specified.")
        account, token = str(data.get("ACCOUNT_NAME", "")).upper(), str(data.get("TOKEN"))
        try:
            if data["AUTHENTICATOR"] == "OAUTH":
                user = login_by_oauth(self._objects, token)
            else:
                user = login(self._objects, account, str(data.get("LOGIN_NAME")), token)
        except LoginRefused as e:
            return _denied(e.code, str(e))
        role = str(request.query_params.get("roleName") or user.text("DEFAULT_ROLE", "PUBLIC")).upper()
        if not self._account.may_take(user.plain_name, role):
            text = f"Role '{role}' specified in the connect string does not exist or not authorized."
            return _denied(_BAD_ROLE, text)
        warehouse = (
            str(request.query_params.get("warehouse") or user.text("DEFAULT_WAREHOUSE")).upper() or None
        )
        who = Session(user.plain_name, role, warehouse, *_place(request, user))
        return JSONResponse(self._opened(who, data))

    def _opened(self, who: Session, data: dict[str, Any]) -> dict[str, Any]:
        autocommit = data.get("SESSION_PARAMETERS", {}).get("AUTOCOMMIT", True)
        token = secrets.token_urlsafe(32)
        session = self._fakesnow.connect(who.database, who.schema, autocommit=autocommit)
        sessions[token] = session
        still_open = {t: each for t, each in self._sessions.items() if t in sessions}
        self._sessions = {**still_open, token: who}
        parameters = {
            "AUTOCOMMIT": autocommit,
            "CLIENT_SESSION_KEEP_ALIVE_HEARTBEAT_FREQUENCY": 3600,
            "CLIENT_STAGE_ARRAY_BINDING_THRESHOLD": 0,
            "CLIENT_TELEMETRY_ENABLED": False,
        }
        session_data = {
            "token": token,
            "validityInSeconds": _VALID,
            "masterToken": secrets.token_urlsafe(32),
            "masterValidityInSeconds": 4 * _VALID,
            "sessionId": secrets.randbits(53),
            "serverVersion": SERVER_VERSION,
            "parameters": [{"name": k, "value": v} for k, v in parameters.items()],
            "sessionInfo": {
                "databaseName": session.database if session.database_set else None,
                "schemaName": session.schema if session.schema_set else None,
                "warehouseName": who.warehouse,
                "roleName": who.role,
            },
        }
        return {"data": session_data, "success": True}

    async def _query(self, request: Request) -> JSONResponse:
        """What is asked again under the same id, for its answer was lost, is answered and not done again."""
        asked = request.query_params.get("requestId", "")
        if asked not in self._answers:
            answer = await self._answered(request)
            self._answers = dict([*self._answers.items(), (asked, answer)][-_KEPT_ANSWERS:])
            return answer
        return self._answers[asked]

    async def _answered(self, request: Request) -> JSONResponse:
        try:
            token = to_token(request)
            connection = to_conn(token)
        except ServerError:
            return await query_request(request)
        body = await _body(request)
        session = replace(
            self._sessions[token],
            database=connection.database if connection.database_set else None,
            schema=connection.schema if connection.schema_set else None,
        )
        try:
            statement = None if is_merge(str(body["sqlText"])) else self._account.parse(str(body["sqlText"]))
            result = await run_in_threadpool(self._carry_out, connection, body, statement, session)
            if result is None:
                return await self._by_fakesnow(request, str(body["sqlText"]), session)
        except (Refused, SqlglotError, NotImplementedError) as e:
            return JSONResponse(failure(_refusal(e)))
        if isinstance(statement, Use):
            self._sessions[token] = replace(session, **{statement.kind.lower(): statement.name})
        return JSONResponse(success(result, session.database, session.schema))

    def _carry_out(
        self, connection: Any, body: dict[str, Any], statement: Statement | None, session: Session
    ) -> Result | None:
        """What our own statement or a MERGE answers, or None if the statement is one for fakesnow."""
        self._account.look()
        result = self._account.execute(statement, session) if statement else None
        if isinstance(statement, DropDatabase):
            _leave_database(statement.name)
        if result is None:
            self._account.admit(parse_one(body["sqlText"], read="snowflake"), session)
            return merged(connection, body) if is_merge(body["sqlText"]) else None
        return result

    async def _by_fakesnow(self, request: Request, sql: str, session: Session) -> JSONResponse:
        response: JSONResponse = await query_request(request)
        if json.loads(bytes(response.body))["success"]:
            await run_in_threadpool(self._account.done, sql, session)
        _forget_old_results(self._fakesnow.results_cache)
        if response.status_code == 500:
            # The connector repeats what was answered with 500 for minutes.
            answer = json.loads(bytes(response.body))
            return JSONResponse(failure(Refused(1, "XX000", answer["message"])))
        return response


def _refusal(error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, NotImplementedError):
        return Refused(2, "0A000", f"Unsupported feature: {error}")
    return syntax_error(_plain(error))


def _forget_old_results(results: dict[str, Any]) -> None:
    for query_id in list(results)[:-_KEPT_RESULTS]:
        results.pop(query_id, None)


def _leave_database(name: str) -> None:
    # duckdb would refuse every further statement of a session whose current database is gone.
    for connection in list(sessions.values()):  # others log in meanwhile
        if connection.database == name:
            connection.cursor()._duck_conn.execute("SET schema = 'memory.main'")
            connection.database, connection.database_set, connection.schema_set = None, False, False


async def _body(request: Request) -> dict[str, Any]:
    body = await request.body()
    if request.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def _place(request: Request, user: Stored) -> tuple[str | None, str | None]:
    """Database and schema of a new session: those that it asks for, else its user's DEFAULT_NAMESPACE."""
    database, schema = (_identifier(request, f"{part}Name") for part in ("database", "schema"))
    namespace = user.text("DEFAULT_NAMESPACE")
    if database or not namespace:
        return database, schema
    first, *rest = parse_name(namespace)
    return first, schema or (rest[0] if rest else None)


def _identifier(request: Request, parameter: str) -> str | None:
    value = request.query_params.get(parameter)
    return str(normalise_ident(value)) if value else None


def _name_of(call: Call) -> str:
    """Its statement's first word, such as CREATE; faults meet statements only."""
    if call.path != "/queries/v1/query-request":
        return ""
    try:
        body = gzip.decompress(call.body) if call.headers.get("content-encoding") == "gzip" else call.body
        return str(json.loads(body)["sqlText"]).split(maxsplit=1)[0].upper()
    except (*MALFORMED, OSError, EOFError):  # the client was killed in the middle
        return ""


def _refused(_: Call, status: int) -> JSONResponse:
    return JSONResponse({}, status, {"Retry-After": "1"} if status == HTTPStatus.TOO_MANY_REQUESTS else None)


def _denied(code: str, text: str) -> JSONResponse:
    return JSONResponse({"data": {}, "code": code, "message": text, "success": False})


def _plain(error: Exception) -> str:
    # sqlglot underlines the place of an error for terminals.
    return str(error).replace("\x1b[4m", "").replace("\x1b[0m", "")


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
    fakesnow, access = open_fakesnow(config), access_of(config)
    if isinstance(access, OwnKey):
        with own_cursor(fakesnow) as cursor:
            access.open(cursor, {})
    kind = StrictAccount if config.strict else Account
    knobs = Knobs()
    tables = IcebergTables(access, objects, fakesnow, knobs, config.pace)
    linked = LinkedDatabases(access, objects, fakesnow, tables, knobs, config.pace)
    account = kind(Parts(access, objects, tables, linked, knobs))
    application = StandIn(account, objects, fakesnow, knobs).application()
    try:
        uvicorn.run(application, host="127.0.0.1", port=config.port, log_level="warning", access_log=False)
    finally:
        fakesnow.duck_conn.close()
        objects.close()


if __name__ == "__main__":
    sys.exit(_main())
