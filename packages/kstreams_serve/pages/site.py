"""The pages: their paths, their required roles, and their functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from kstreams.clock import SystemClock
from kstreams.errors import KStreamsError
from kstreams_serve.action import Action
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import app_of
from kstreams_serve.pages.app_facts import AppFacts, facts_of
from kstreams_serve.pages.assets import ASSETS, Asset
from kstreams_serve.pages.batches import batch, batches
from kstreams_serve.pages.diff_page import DiffPage
from kstreams_serve.pages.dropped import DroppedPage
from kstreams_serve.pages.explain_page import ExplainPage
from kstreams_serve.pages.failures import failures
from kstreams_serve.pages.forecast_page import ForecastPage
from kstreams_serve.pages.frames import frame_of
from kstreams_serve.pages.key_pages import KeyPages
from kstreams_serve.pages.letters_page import LettersPage
from kstreams_serve.pages.live import LivePages
from kstreams_serve.pages.node import node
from kstreams_serve.pages.ordering import OrderForms
from kstreams_serve.pages.overview import overview
from kstreams_serve.pages.recordings import Recordings
from kstreams_serve.pages.rendering import render
from kstreams_serve.pages.signing_in import SigningIn
from kstreams_serve.pages.store_pages import StorePages
from kstreams_serve.pages.tasks import tasks
from kstreams_serve.pages.trace_page import TracePage
from kstreams_serve.pages.versions import versions
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem, status_of
from kstreams_serve.roles import Role
from kstreams_serve.served_app import ServedApp

__all__ = ("Site",)

_KEPT_SECONDS = 365 * 24 * 3600
_TITLES = {
    400: "Invalid request",
    403: "Access denied",
    404: "Not found",
    409: "Action not possible",
    410: "Version not available",
    413: "Request too large",
    503: "Not ready yet",
}

_NEEDS_DATA = "Sign in with a token of the role data to see the cause."

_Shown = tuple[Page, AppFacts | None]
"""A page, and the data of its app; None for a page without an app."""
_AnyPage = Callable[[Visit], Awaitable[_Shown]]
_AppPage = Callable[[Visit, ServedApp, AppFacts], Awaitable[Page]]


class Site:
    """All pages of a server.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._clock = SystemClock()
        self._recordings = Recordings()
        self._live = LivePages(context.streams, context.limits)

    def actions(self) -> tuple[Action, ...]:
        """Return the action of each page with its required role."""
        stores, keys = StorePages(self._context), KeyPages(self._context)
        signing = SigningIn(self._context, self._login)
        orders = OrderForms(self._context)
        dropped = DroppedPage(self._recordings)
        of_apps: tuple[tuple[str, Role, _AppPage], ...] = (
            ("", Role.VIEW, overview),
            ("/stores", Role.VIEW, stores.all),
            ("/stores/{store}", Role.VIEW, stores.one),
            ("/stores/{store}/key", Role.DATA, keys.key),
            ("/stores/{store}/history", Role.DATA, keys.history),
            ("/stores/{store}/explain", Role.DATA, ExplainPage(self._context).page),
            ("/stores/{store}/diff", Role.DATA, DiffPage(self._context).page),
            ("/look", Role.DATA, keys.look),
            ("/node", Role.VIEW, node),
            ("/tasks", Role.VIEW, tasks),
            ("/batches", Role.VIEW, batches),
            ("/batch", Role.VIEW, batch),
            ("/dropped", Role.VIEW, dropped.page),
            ("/trace", Role.DATA, TracePage(self._context).page),
            ("/letters", Role.DATA, LettersPage(self._context).page),
            ("/errors", Role.VIEW, failures),
            ("/versions", Role.VIEW, versions),
            ("/forecast", Role.VIEW, ForecastPage().page),
        )
        return (
            self._action("/", Role.VIEW, self._apps),
            self._action("/login", Role.OPEN, signing.form),
            Action("POST", "/login", Role.OPEN, signing.sign_in, page=True, refuse=self._refused),
            Action("POST", "/logout", Role.OPEN, signing.sign_out, page=True, refuse=self._refused),
            Action(
                "POST",
                "/apps/{app}/orders",
                Role.ACT,
                orders.send,
                page=True,
                refuse=self._refused,
            ),
            *(_asset_action(asset) for asset in ASSETS.values()),
            *(
                self._action(f"/apps/{{app}}{path}", role, self._in_app(page))
                for path, role, page in of_apps
            ),
        )

    def _action(
        self,
        path: str,
        role: Role,
        page: _AnyPage,
    ) -> Action:
        async def run(request: Request) -> ASGIApp:
            """Return a page, or the event stream of its changed regions."""

            async def html() -> tuple[Page, str]:
                visit = self._visit(request)
                found, facts = await page(visit)
                return found, await asyncio.to_thread(self._html, visit, found, facts)

            if "text/event-stream" in request.headers.get("accept", ""):
                return self._live.stream(request, html)
            found, text = await html()
            return _response(text, found.status)

        return Action("GET", path, role, run, media=("text/html",), page=True, refuse=self._refused)

    def _visit(self, request: Request) -> Visit:
        return Visit(request, Role(request.scope["role"]), self._clock.now_ms())

    def _html(self, visit: Visit, page: Page, facts: AppFacts | None) -> str:
        frame = frame_of(facts, signed_in=visit.role > Role.OPEN)
        content = {
            **page.content,
            "page": page,
            "frame": frame,
            "now_ms": visit.now_ms,
            "sees_data": visit.sees_data,
            "may_act": self._context.allows_actions and visit.role >= Role.ACT,
            "live": page.is_live,
        }
        return render(page.template, content)

    def _login(self, visit: Visit, page: Page) -> Response:
        return _response(self._html(visit, page, None), page.status)

    async def _apps(self, visit: Visit) -> _Shown:
        visit.given(())
        context = self._context
        apps = sorted(context.apps.values(), key=lambda app: app.name)
        facts = await asyncio.to_thread(lambda: [self._facts(app) for app in apps])
        return Page("apps.html", "Apps", {"apps": facts}), None

    def _facts(self, app: ServedApp) -> AppFacts:
        return facts_of(app, self._context.lag, self._recordings, self._clock.now_ms())

    def _in_app(self, page: _AppPage) -> _AnyPage:
        async def shown(visit: Visit) -> _Shown:
            app = app_of(self._context, visit.request)
            facts = await asyncio.to_thread(self._facts, app)
            if facts.problem:
                return _unreadable(facts, visit), facts
            return await page(visit, app, facts), facts

        return shown

    def _refused(self, request: Request, problem: Problem | KStreamsError) -> ASGIApp:
        """Return the page of a problem; redirect visitors without a token to the login page."""
        visit = self._visit(request)
        status = status_of(problem)
        if "text/event-stream" in request.headers.get("accept", ""):
            return Response(status_code=status)
        if status == 401:  # no token
            here = "/"
            if request.method == "GET":
                here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/login?next={quote(here, safe='')}", 303)
        if isinstance(problem, Problem):
            detail, hint, headers = problem.detail, problem.hint, problem.headers
        elif visit.sees_data:
            detail, hint, headers = problem.message, problem.hint, {}
        else:
            kind = type(problem).__name__
            detail, hint, headers = (
                f"The request failed: {kind}.",
                _NEEDS_DATA,
                {},
            )
        title = _TITLES.get(status, "Request failed")
        page = Page(
            "problem.html",
            title,
            {"detail": _sentence(detail), "hint": hint},
            status,
            is_live=False,
        )
        app = self._context.apps.get(request.path_params.get("app", ""))
        facts = None if app is None or visit.role < Role.VIEW else self._facts(app)
        answer = _response(self._html(visit, page, facts), status)
        answer.headers.update(headers)
        return answer


def _unreadable(facts: AppFacts, visit: Visit) -> Page:
    detail = facts.problem if visit.sees_data else _NEEDS_DATA
    return Page(
        "problem.html",
        "The app's checkpoint cannot be read",
        {"detail": detail, "hint": "Try again in a moment: an app cannot be read during a reset "
         "or an upgrade."},
        503,
    )  # fmt: skip


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _response(html: str, status: int) -> Response:
    return Response(html.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _asset_action(asset: Asset) -> Action:
    async def send(_: Request) -> Response:
        """Send a static file of the pages."""
        kept = {"Cache-Control": f"public, max-age={_KEPT_SECONDS}, immutable"}
        return Response(asset.data, headers=kept, media_type=asset.kind)

    return Action("GET", asset.path, Role.OPEN, send, media=(asset.kind,), page=True)
