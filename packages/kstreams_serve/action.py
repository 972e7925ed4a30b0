"""One thing that can be asked of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.types import ASGIApp

from kstreams.errors import KStreamsError
from kstreams_serve.problems import Problem, answer_of
from kstreams_serve.roles import Role

__all__ = ("Action", "Refuse")

Refuse = Callable[[Request, "Problem | KStreamsError"], ASGIApp]
"""Returns what a problem looks like to who has asked."""


def _as_json(request: Request, problem: Problem | KStreamsError) -> ASGIApp:
    return answer_of(problem, tells=request.scope["role"] >= Role.DATA)


@dataclass(frozen=True)
class Action:
    """A route, with the role that it needs: there is no other way to add one.

    The role is checked before `run` is called. What `run` raises is answered by `refuse`:
    `Problem` and errors of the library as what they are, anything else as 500, its text in the
    server's log alone.

    Attributes:
        method: Of HTTP. Who only looks uses GET; a POST has a body of JSON, unless it is a
            `page`'s.
        path: With names of parts in braces. A part is looked up in a list: it is no key, and
            never a step of a path on disk.
        role: What it needs.
        run: Does it; the first line of its docstring describes it.
        query: The parameters of its query string, by name, as schemas of JSON.
        body: The fields of its body, likewise; those of `needed` have to be there.
        needed: Names of parameters and fields that have to be there.
        answer: Schema of its answer, where that is JSON; None is any other.
        media: The kinds of its answer.
        page: Whether it is for people: then `/openapi.json` leaves it out.
        refuse: Says a problem; by default as `application/problem+json`. A page's says it in
            HTML, and leads who has no token (401) to where one can be given.
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
        """What it does, in a line."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]
