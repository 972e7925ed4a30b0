"""The login of browsers: they send a token once, and get a cookie that expires."""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kstreams.clock import SystemClock
from kstreams_serve.context import Context
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem
from kstreams_serve.request_bodies import form_body
from kstreams_serve.roles import Role

__all__ = ("SigningIn",)

_OWN = re.compile(r"/(?![/\\])[!-\[\]-~]{0,4000}")


class SigningIn:
    """The login page, and the actions of its form and of the logout button.

    Args:
        context: The shared context of routes.
        show: Renders a page to a response.
    """

    def __init__(self, context: Context, show: Callable[[Visit, Page], Response]) -> None:
        self._authenticator = context.authenticator
        self._limits = context.limits
        self._show = show
        self._clock = SystemClock()

    async def form(self, visit: Visit) -> tuple[Page, AppFacts | None]:
        """Return the login page."""
        given = visit.given(("next",))
        return _login_page(_own(given.get("next") or "/")), None

    async def sign_in(self, request: Request) -> Response:
        """Check a token, set the cookie, and redirect to the page that the visitor wanted."""
        fields = await form_body(request, self._limits)
        after = _own(fields.get("next", "/"))
        address = request.client.host if request.client is not None else ""
        try:
            cookie = self._authenticator.log_in(fields.get("token", "").strip(), address)
        except Problem as problem:
            said = {
                401: "The token is not valid for this server.",
                429: "Too many invalid tokens from your address. Try again in a minute.",
            }
            page = _login_page(after, said.get(problem.status, problem.detail), problem.status)
            visit = Visit(request, Role.OPEN, self._clock.now_ms())
            answer = self._show(visit, page)
            answer.headers.update(problem.headers if problem.status != 401 else {})
            return answer
        return RedirectResponse(after, 303, {"Set-Cookie": cookie})

    async def sign_out(self, request: Request) -> Response:
        """Delete the visitor's cookie."""
        await form_body(request, self._limits)
        return RedirectResponse("/login", 303, {"Set-Cookie": self._authenticator.log_out()})


def _login_page(after: str, problem: str = "", status: int = 200) -> Page:
    return Page("login.html", "Sign in", {"next": after, "problem": problem}, status, is_live=False)


def _own(path: str) -> str:
    """Return the path if it is a path on this server; otherwise the path of the first page."""
    return path if _OWN.fullmatch(path) else "/"
