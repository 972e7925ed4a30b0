"""Commands to apps over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kstreams_serve.action import Action
from kstreams_serve.app_commands import ORDERS, Giver, Order, Orders
from kstreams_serve.context import Context
from kstreams_serve.name_lookup import app_of
from kstreams_serve.request_bodies import json_answer, json_body
from kstreams_serve.roles import Role

__all__ = ("Ordering",)


class Ordering:
    """The action that sends a command to an app.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._orders = Orders(context)

    def actions(self) -> Sequence[Action]:
        """Return the action of the route that runs a command of an app, such as a pause."""
        body: dict[str, dict[str, Any]] = {
            "order": {"type": "string", "enum": list(ORDERS)},
            "reason": {"type": "string", "description": "The reason of a pause."},
            "name": {
                "type": "string",
                "description": "The name of a savepoint; required for this order.",
            },
        }
        return (
            Action(
                "POST",
                "/v1/apps/{app}/orders",
                Role.ACT,
                self.order,
                body=body,
                needed=("order",),
                answer={"type": "object"},
            ),
        )

    async def order(self, request: Request) -> Response:
        """Pause or resume an app, or keep its last version as a savepoint (`--allow-actions`)."""
        app = app_of(self._context, request)
        body = await json_body(request, self._context.limits)
        return json_answer(await self._orders.give(app, Order.of(body), Giver.of(request)))
