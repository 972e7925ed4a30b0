"""The routes: each with the role that it needs, and what OpenAPI says of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from kstreams.errors import KStreamsError
from kstreams.serve.api import Api
from kstreams.serve.guard import require
from kstreams.serve.problems import Problem, answer_of
from kstreams.serve.settings import Role

__all__ = ("Action", "actions_of", "application", "openapi")

_LOG = logging.getLogger(__name__)
_STORE = "/v1/apps/{app}/stores/{store}"
_AT = ("as_of", "min_version")


@dataclass(frozen=True)
class Action:
    """One thing that can be asked.

    Attributes:
        method: GET or POST.
        path: With names of parts in braces; a key is never one.
        role: What it needs.
        run: Does it.
        query: Names of the parameters.
        body: Names of the fields of the body.
    """

    method: str
    path: str
    role: Role
    run: Callable[[Request], Awaitable[ASGIApp]]
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]


def actions_of(api: Api) -> tuple[Action, ...]:
    """Return all actions but the description of themselves."""
    rows = ("start", "end", "prefix", "reverse", "key_format", *_AT, "limit", "cursor")
    stored = ("version", "life", "partition", "keys", "start", "end", "reverse", "limit")
    multi = ("keys", "key_format", "as_of")
    key = ("key", "key_format")
    return (
        Action("GET", "/health/live", Role.OPEN, api.live),
        Action("GET", "/health/ready", Role.OPEN, api.ready),
        Action("GET", "/metrics", Role.METRICS, api.metrics),
        Action("GET", "/v1/apps", Role.VIEW, api.apps),
        Action("GET", "/v1/apps/{app}", Role.VIEW, api.app),
        Action("GET", _STORE, Role.VIEW, api.store),
        Action("GET", f"{_STORE}/key", Role.DATA, api.key, (*key, "from", "to", *_AT)),
        Action("GET", f"{_STORE}/rows", Role.DATA, api.rows, rows),
        Action("GET", f"{_STORE}/follow", Role.DATA, api.follow, key),
        Action("POST", f"{_STORE}/multi", Role.DATA, api.multi, (), multi),
        Action("POST", f"{_STORE}/stored", Role.DATA, api.stored, (), stored),
        Action("POST", "/v1/apps/{app}/read", Role.DATA, api.read, (), ("reads",)),
    )


def application(actions: Sequence[Action]) -> Starlette:
    """Return what answers the actions; whoever asks has gone past the guard."""
    document = openapi(actions)

    async def describe(_: Request) -> ASGIApp:
        """Describe all this for programs, as OpenAPI."""
        return JSONResponse(document)

    every = (*actions, Action("GET", "/openapi.json", Role.VIEW, describe))
    routes = [Route(each.path, _endpoint(each), methods=[each.method]) for each in every]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app


def _endpoint(action: Action) -> Callable[[Request], Awaitable[ASGIApp]]:
    async def answer(request: Request) -> ASGIApp:
        try:
            require(request, action.role)
            return await action.run(request)
        except (Problem, KStreamsError) as problem:
            return answer_of(problem)
        except Exception:  # noqa: BLE001  # of a serde, or a fault of ours: the caller is told
            _LOG.exception("%s %s failed", action.method, action.path)
            return answer_of(Problem(500, "this failed; the server's log says why"))

    return answer


def openapi(actions: Sequence[Action]) -> dict[str, Any]:
    """Return the OpenAPI document of actions."""
    paths: dict[str, Any] = {}
    for each in actions:
        parts = [part[1:-1] for part in each.path.split("/") if part.startswith("{")]
        parameters = [
            {"name": name, "in": place, "required": needed, "schema": {"type": "string"}}
            for names, place in ((parts, "path"), (each.query, "query"))
            for name in names
            for needed in (place == "path" or (name == "key" and each.path.endswith("/key")),)
        ]
        paths.setdefault(each.path, {})[each.method.lower()] = {
            "summary": each.summary,
            "operationId": each.path.rpartition("/")[2].strip("{}"),
            "parameters": parameters,
            "security": [] if each.role is Role.OPEN else [{"token": []}],
            "responses": {
                "200": {"description": "What was asked for."},
                "default": {"description": "A problem, as application/problem+json."},
            },
            **({"requestBody": _body(each.body)} if each.body else {}),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "kstreams serve", "version": "1"},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _body(names: Sequence[str]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: {} for name in names},
        "additionalProperties": False,
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}
