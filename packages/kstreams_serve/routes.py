"""The routes of a server: the `Action`s of all classes in `PARTS`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kstreams.errors import KStreamsError
from kstreams_serve.action import Action
from kstreams_serve.api import Api
from kstreams_serve.app_command_routes import Ordering
from kstreams_serve.context import Context
from kstreams_serve.explaining import Explaining
from kstreams_serve.openapi import openapi
from kstreams_serve.pages.site import Site
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.reads import Reads
from kstreams_serve.request_times import RequestTimes
from kstreams_serve.roles import Role, require

__all__ = ("PARTS", "actions_of", "application")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

PARTS: tuple[Callable[[Context], Sequence[Action]], ...] = (
    lambda context: Reads(context).actions(),
    lambda context: Api(context).actions(),
    lambda context: Explaining(context).actions(),
    lambda context: Ordering(context).actions(),
    lambda context: Site(context).actions(),
)
"""The parts with routes: each creates its actions from the context. Frequent routes come first."""


def actions_of(context: Context) -> tuple[Action, ...]:
    """Return the actions of `PARTS`, and the action that describes them as OpenAPI.

    Raises:
        ValueError: Two actions have the same method and path.
    """
    actions = [action for part in PARTS for action in part(context)]
    document = openapi(actions)

    async def describe(_: Request) -> ASGIApp:
        """Describe the actions of the server as OpenAPI."""
        return JSONResponse(document)

    actions.append(Action("GET", "/openapi.json", Role.VIEW, describe))
    places = [(action.method, action.path) for action in actions]
    if len(set(places)) < len(places):
        twice = sorted({place for place in places if places.count(place) > 1})
        raise ValueError(f"several actions have the same method and path: {twice}")
    return tuple(actions)


def application(actions: Sequence[Action], times: RequestTimes) -> Starlette:
    """Return the application that routes requests to actions, and counts the requests.

    It checks no tokens or hosts: wrap it in a `Guard`.
    """
    routes = [Route(each.path, _Endpoint(each, times), methods=[each.method]) for each in actions]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_route})  # type: ignore[dict-item]  # of the class that it is for
    app.router.redirect_slashes = False
    return app


class _Endpoint:
    """Calls one action: checks the role, and converts exceptions with `Action.refuse`."""

    def __init__(self, action: Action, times: RequestTimes) -> None:
        self._action = action
        self._times = times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        answer = await self._answer(Request(scope, receive, send))
        await self._times.timed(self._action.path, began, answer)(scope, receive, send)

    async def _answer(self, request: Request) -> ASGIApp:
        action = self._action
        try:
            require(request.scope["role"], action.role)
            return await action.run(request)
        except (Problem, KStreamsError) as problem:
            return action.refuse(request, problem)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected
        except Exception:  # noqa: BLE001  # a serde failed, or a bug: send it to the caller
            _LOG.exception("%s %s failed", action.method, action.path)
            return action.refuse(
                request, Problem(500, "the request failed; the server's log has the reason")
            )


async def _no_route(_: Request, exc: HTTPException) -> Response:
    """Return the response to a request without a matching action."""
    return answer_of(Problem(exc.status_code, exc.detail, headers=exc.headers))
