"""The stand-in, `python -m frazil_local.cloud.confluent.server`, on 127.0.0.1 until it is told to stop."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from frazil.settings.profile import Settings
from frazil_local.cloud import faults
from frazil_local.cloud.confluent import connect
from frazil_local.cloud.confluent.access import caller
from frazil_local.cloud.confluent.flink.statements import statements
from frazil_local.cloud.confluent.kafka import registry
from frazil_local.cloud.confluent.kafka import rest as kafka_rest
from frazil_local.cloud.confluent.kind import Answer, Call, Kind
from frazil_local.cloud.confluent.management import (
    Accounts,
    Bindings,
    Clusters,
    Environments,
    Keys,
    Pools,
    Registries,
)
from frazil_local.cloud.confluent.organization import Json, Organization, Places
from frazil_local.cloud.confluent.refusals import Refusal
from frazil_local.cloud.confluent.tableflow.topics import CatalogIntegrations, Integrations, TableflowTopics
from frazil_local.cloud.faults import Faulty
from frazil_local.ports import LOOPBACK

Handler = Callable[[Organization, Call], Answer]

KINDS: tuple[type[Kind], ...] = (
    Environments, Clusters, Registries, Accounts, Bindings, Keys, Pools, Integrations, TableflowTopics,
    CatalogIntegrations,
)  # fmt: skip
_VARIABLES = "FRAZIL_CLOUD_CONFLUENT_"
_VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_KAFKA = "/kafka/v3/clusters/{cluster}"
_CONNECT = "/connect/v1/environments/{environment}/clusters/{cluster}"
_SQL = "/sql/v1/organizations/{organization}/environments/{environment}/statements"

_HANDLERS: dict[str, Handler] = {
    f"{_KAFKA}/topics": kafka_rest.topics, f"{_KAFKA}/topics/{{name}}": kafka_rest.topics,
    f"{_KAFKA}/topics/{{name}}/configs": kafka_rest.configs,
    f"{_KAFKA}/topics/{{name}}/configs:alter": kafka_rest.configs,
    f"{_KAFKA}/acls": kafka_rest.acls,
    f"{_CONNECT}/connectors": connect.connectors, f"{_CONNECT}/connectors/{{name}}": connect.connectors,
    f"{_CONNECT}/connectors/{{name}}/status": connect.status,
    f"{_CONNECT}/connectors/{{name}}/config": connect.config,
    f"{_CONNECT}/connectors/{{name}}/pause": connect.turn,
    f"{_CONNECT}/connectors/{{name}}/resume": connect.turn,
    f"{_CONNECT}/connector-plugins/{{plugin}}/config/validate": connect.validate,
    _SQL: statements, f"{_SQL}/{{name}}": statements,
}  # fmt: skip


def application(organization: Organization) -> ASGIApp:
    """The routes of one organization, behind its faults."""
    routes: list[Route] = []
    handlers: dict[str, Handler] = {
        "/tableflow/v1/regions": _regions, "/org/v2/organizations": _organizations, **_HANDLERS
    }  # fmt: skip
    for kind in KINDS:
        handlers |= dict.fromkeys((kind.path, kind.path + "/{id}"), kind().answer)
    for path, handler in handlers.items():
        routes.append(Route(path, _Endpoint(organization, handler), methods=_VERBS))
    routes.append(Route("/registry/{registry}/{rest:path}", _Gate(organization), methods=_VERBS))
    return Faulty(Starlette(routes=routes), organization.knobs, _name_of, partial(_refusal, organization))


def _name_of(call: faults.Call) -> str:
    return f"{call.method} {call.path}"


def _refusal(organization: Organization, call: faults.Call, status: int) -> Response:
    if status != 429:
        return JSONResponse(Refusal(status, "Internal Server Error").body(call.path), status)
    after = str(organization.delays.retry_after)
    headers = {"Retry-After": after, "X-RateLimit-Reset": after}
    if call.path.startswith("/kafka/"):
        return Response("Rate Limit Exceeded", status, headers, "text/html")
    return Response(None, status, headers)


def _regions(organization: Organization, call: Call) -> Answer:
    caller(organization, call.authorization, "tableflow")
    return 200, {"api_version": "tableflow/v1", "kind": "RegionList", "metadata": {}, "data": []}


def _organizations(organization: Organization, call: Call) -> Answer:
    caller(organization, call.authorization, "cloud")
    metadata = {
        "self": f"{organization.places.here}{call.path}/{organization.id}",
        "resource_name": organization.crn,
    }
    one = {"api_version": "org/v2", "kind": "Organization", "id": organization.id, "display_name": "Frazil"}
    organizations = [{**one, "metadata": metadata}]
    return 200, {"api_version": "org/v2", "kind": "OrganizationList", "metadata": {}, "data": organizations}


class _Endpoint:
    """Answers requests for one path."""

    def __init__(self, organization: Organization, handler: Handler | None = None) -> None:
        self._organization, self._handler = organization, handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, in a thread: handlers wait for AWS, Kafka and the registry."""
        request = Request(scope, receive)
        try:
            body = await request.body()
            call = _call(request, body)
            answer = await run_in_threadpool(self._handled, call, request.url.query, body)
        except Refusal as e:
            answer = JSONResponse(e.body(request.url.path), e.status, e.headers)
        await answer(scope, receive, send)

    def _handled(self, call: Call, query: str, body: bytes) -> Response:
        assert self._handler
        organization = self._organization
        with organization.lock:
            status, answer = self._handler(organization, call)
            if organization.places.broker:
                organization.places.broker.settle(organization)
            if call.method != "GET":
                organization.save()
        return Response(status_code=status) if answer is None else JSONResponse(answer, status)


class _Gate(_Endpoint):
    """Lets requests through to the registry."""

    def _handled(self, call: Call, query: str, body: bytes) -> Response:
        with self._organization.lock:
            registry.admit(self._organization, call)
        status, sent = registry.forward(self._organization, call, query, body)
        return Response(sent, status, media_type="application/vnd.schemaregistry.v1+json")


def _call(request: Request, body: bytes) -> Call:
    try:
        body_read: Json = json.loads(body) if body else {}
    except ValueError:
        raise Refusal(400, "the body is no JSON") from None
    params = {name: str(value) for name, value in request.path_params.items()}
    authorization = request.headers.get("authorization", "")
    return Call(
        request.method, request.url.path, params, dict(request.query_params), body_read, authorization
    )


def server(organization: Organization, port: int) -> uvicorn.Server:
    """A server on loopback that is not started yet."""
    config = uvicorn.Config(application(organization), LOOPBACK, port, log_level="critical", access_log=False)
    return uvicorn.Server(config)


def _main() -> None:
    """Serves what the environment says; settings are read without these variables, which are none."""
    from frazil_local.cloud.confluent.kafka.broker import KafkaBroker
    from frazil_local.cloud.confluent.tableflow.materializer import Materializer

    variables = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_VARIABLES)}
    port, profile, seed, *admin = (
        variables[_VARIABLES + name] for name in ("PORT", "PROFILE", "SEED", "KEY", "SECRET")
    )
    settings = Settings.of_profile(Path(profile))
    organization = Organization(
        Places(
            f"http://{LOOPBACK}:{port}",
            variables[f"{_VARIABLES}AWS"],
            settings.registry,
            KafkaBroker(settings, variables[f"{_VARIABLES}BOOTSTRAP"], seed),
            Path(variables[f"{_VARIABLES}STATE"]) / "organization.json",
            materializes=True,
        )
    )
    organization.recall()
    organization.admit(*admin)
    tableflow = Materializer(organization, settings)
    tableflow.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again when it has ended
    try:
        server(organization, int(port)).run()
    finally:
        tableflow.end()


if __name__ == "__main__":
    _main()
