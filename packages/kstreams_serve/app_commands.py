"""Nondestructive commands to apps, for all protocols."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from starlette.requests import Request

from kstreams.checkpoint.pause import pause, present_pause, resume
from kstreams.checkpoint.savepoint.savepoints import SAVEPOINT_RULE, Savepoints, is_savepoint_name
from kstreams.clock import SystemClock
from kstreams.errors import KStreamsError, SavepointError
from kstreams.quoting import one_line, repr_of, text_of
from kstreams_serve.context import Context
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role, Visitor, require
from kstreams_serve.served_app import ServedApp

__all__ = ("ORDERS", "Giver", "Order", "Orders")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_LONGEST = 500
_NO_REASON = "no reason was given"

ORDERS: Mapping[str, str | None] = {"pause": "reason", "resume": None, "savepoint": "name"}
"""The commands, each with the name of its field; None for a command without a field."""


@dataclass(frozen=True)
class Giver:
    """The sender of a command.

    Attributes:
        visitor: The owner of the token.
        address: The address of the client.
    """

    visitor: Visitor
    address: str

    @classmethod
    def of(cls, request: Request) -> Giver:
        """Return the sender of a request."""
        address = "" if request.client is None else request.client.host
        return cls(request.scope["visitor"], address)

    def __str__(self) -> str:
        """Return the text for logs, without the token."""
        return f"{self.visitor.name or 'a token without a name'}, from {self.address}"


@dataclass(frozen=True)
class Order:
    """A parsed command.

    Attributes:
        what: The command, a key of `ORDERS`.
        text: The reason of a pause, or the name of a savepoint.
    """

    what: str
    text: str = ""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Order:
        """Parse a command.

        Args:
            given: `order` (the command) and its field: `reason`, which is optional, or `name`.

        Raises:
            Problem: The fields are not a valid command.
        """
        what = given.get("order")
        if not isinstance(what, str) or what not in ORDERS:
            raise Problem(400, f"order is {repr_of(what, 40)}; expected one of {', '.join(ORDERS)}")
        field = ORDERS[what]
        unknown = [name for name in given if name not in ("order", field)]
        if unknown:
            raise Problem(400, f"command {what!r} has no field {repr_of(unknown[0], 40)}")
        if field is None:
            return cls(what)
        text = given.get(field, _NO_REASON if what == "pause" else None)
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
            raise Problem(
                400,
                f"command {what!r} needs field {field!r} with 1 to {_LONGEST} characters",
            )
        if what == "savepoint" and not is_savepoint_name(text):
            raise Problem(
                400, f"a savepoint cannot have the name {repr_of(text, 40)}", hint=SAVEPOINT_RULE
            )
        return cls(what, text)

    def __str__(self) -> str:
        """Return the text for the log."""
        return f"{self.what} {repr_of(self.text)}" if self.text else self.what


class Orders:
    """Executes commands; a command is complete before its response, and may be repeated.

    Pauses and savepoints are stored as the command line stores them: a running app sees them soon,
    a stopped app at its next start. The log and a pause name the sender of the command.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._allowed = context.allows_actions
        self._most = context.limits.savepoints
        self._clock = SystemClock()

    async def give(self, app: ServedApp, order: Order, giver: Giver) -> dict[str, Any]:
        """Execute a command.

        Args:
            app: The app.
            order: The command.
            giver: The sender.

        Returns:
            A JSON object: the app, the command, whether it changed anything, and the result,
                `paused` (or None) or `savepoint`.

        Raises:
            Problem: The sender has no permission, the server accepts no commands, or the command
                failed.
        """
        require(giver.visitor.role, Role.ACT)
        self._check_allowed()
        told = one_line(f"app {app.name}: {order}, by {giver}")
        try:
            found = await asyncio.to_thread(self._done, app, order, str(giver))
        except (Problem, KStreamsError, OSError) as exc:
            _LOG.warning("order not done, %s: %s", told, one_line(text_of(exc)))
            raise _problem(exc) from exc
        _LOG.warning("order %s, %s", "done" if found["changed"] else "changes nothing", told)
        return {"app": app.name, "order": order.what, **found}

    def _check_allowed(self) -> None:
        if not self._allowed:
            raise Problem(
                403,
                "this server does not accept actions on apps",
                hint="start the server with --allow-actions.",
            )

    def _check_room(self, savepoints: Savepoints) -> None:
        if len(savepoints.names()) >= self._most:
            raise Problem(
                409,
                f"the app has {self._most} savepoints or more, the limit of this server",
                hint="delete one with `kstreams state savepoint APP NAME --delete`, or start the "
                "server with a higher --limit savepoints=N.",
            )

    def _done(self, app: ServedApp, order: Order, giver: str) -> dict[str, Any]:
        if order.what == "savepoint":
            savepoints = Savepoints(app.checkpoint, app.objects())
            self._check_room(savepoints)
            made = savepoints.create(order.text, self._clock)
            batches = {query: commit.batch for query, commit in made.commits.items()}
            point = {"name": made.name, "wall_ms": made.wall_ms, "batches": batches}
            return {"changed": True, "savepoint": point}
        if order.what == "resume":
            return {"changed": resume(app.home) is not None, "paused": None}
        before = present_pause(app.home)
        found = pause(app.home, order.text, self._clock.now_ms(), giver)
        return {"changed": before is None, "paused": asdict(found)}


def _problem(exc: Exception) -> Exception:
    """Return the problem to report to the sender of a failed command."""
    if isinstance(exc, SavepointError):
        return Problem(409, text_of(exc.message), hint=text_of(exc.hint))
    if isinstance(exc, OSError):
        return Problem(
            409,
            f"the checkpoint cannot be written: {text_of(exc.strerror)}",
            hint="the server has to run as a user who may write it.",
        )
    return exc
