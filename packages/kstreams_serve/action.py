"""An action of a server: a route with its required role."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.types import ASGIApp

from kstreams.errors import KStreamsError
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role

__all__ = ("Action", "Refuse")

Refuse = Callable[[Request, "Problem | KStreamsError"], ASGIApp]
"""Returns the response for a problem."""


def _as_json(request: Request, problem: Problem | KStreamsError) -> ASGIApp:
    return answer_of(problem, shows_details=request.scope["role"] >= Role.DATA)


@dataclass(frozen=True)
class Action:
    """A route with its required role; routes can only be added as actions.

    The role is checked before the call of `run`. `refuse` creates the response for an exception of
    `run`: `Problem` and errors of the library determine the status; other exceptions give 500, and
    only the server's log has their text.

    Attributes:
        method: The HTTP method. Reads use GET; a POST has a JSON body, unless it belongs to a
            `page`.
        path: The path, with the names of its parameters in braces. Their values are only looked up
            among known names; they are neither keys nor used in paths on disk.
        role: The required role.
        run: The function; the first line of its docstring is the description.
        query: The parameters of the query string, by name, as JSON schemas.
        body: The fields of the JSON body, by name, as JSON schemas.
        needed: The names of required parameters and fields.
        answer: The schema of a JSON response; None for responses that are not JSON.
        media: The media types of the response.
        page: Whether it is a web page, which `/openapi.json` omits.
        refuse: Creates the response for a problem; by default `application/problem+json`. Pages
            return HTML, and redirect visitors without a token (401) to the login page.
    """

    method: Literal["GET", "POST"]
    path: str
    role: Role
    run: Callable[[Request], Awaitable[ASGIApp]]
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    body: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    answer: Mapping[str, Any] | None = None
    media: tuple[str, ...] = ("application/json",)
    page: bool = False
    refuse: Refuse = _as_json

    @property
    def summary(self) -> str:
        """The description in one line."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]
