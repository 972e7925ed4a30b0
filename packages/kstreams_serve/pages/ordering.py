"""The buttons on pages that send a command to an app, for visitors with the role `ACT`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kstreams_serve.app_commands import Giver, Order, Orders
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import app_of
from kstreams_serve.pages.frames import base_of
from kstreams_serve.request_bodies import form_body

__all__ = ("OrderForms",)


class OrderForms:
    """The actions of command forms, which work without scripts.

    A browser sends forms with its cookie, so the guard has checked that they belong to a page of
    this server.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._orders = Orders(context)

    async def send(self, request: Request) -> Response:
        """Execute a command, and redirect to the page that shows its effect."""
        app = app_of(self._context, request)
        fields = await form_body(request, self._context.limits)
        filled = {name: text for name, text in fields.items() if text}
        order = Order.of(filled)
        await self._orders.give(app, order, Giver.of(request))
        page = "/versions" if order.what == "savepoint" else ""
        return RedirectResponse(f"{base_of(app.name)}{page}", 303)
