"""The server of a webhook, in a thread: it replies when the outcome of a message is known."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import override

from kstreams.errors import IntakeError
from kstreams.quoting import text_of
from kstreams_intake.contract import Delivery, Receiver
from kstreams_serve.authentication import Authenticator
from kstreams_serve.guard import Guard
from kstreams_serve.listening import bound, config_of, url_of
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role, require
from kstreams_webhook.inbox import Inbox, again
from kstreams_webhook.webhook import HEALTH, Webhook, listening_of

__all__ = ("WebhookReceiver",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_START_S = 20.0
_POLL_S = 0.005
_END_S = 10.0


class WebhookReceiver(Receiver):
    """An open webhook.

    Args:
        webhook: The settings.

    Attributes:
        url: The URL.

    Raises:
        ServeError: The address is not available.
        IntakeError: The server cannot start, for example because of an invalid certificate.
    """

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook
        self._inbox = Inbox(webhook.max_waiting_bytes, webhook.answer_within.total_seconds())
        settings = listening_of(webhook)
        routes = [
            Route(HEALTH, _live, methods=["GET"]),
            Route(webhook.path, self._answer, methods=["POST"]),
        ]
        app = Starlette(routes=routes)
        app.router.redirect_slashes = False
        authenticator = Authenticator(settings, time.monotonic)
        config = config_of(Guard(app, settings, authenticator), settings, lifespan="off")
        self._socket = bound(settings)
        self.url = f"{url_of(self._socket, settings)}{webhook.path}"
        self._server = uvicorn.Server(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="kstreams-webhook", daemon=True)
        self._thread.start()
        self._await_start()
        _LOG.info("%s listens at %s", webhook.name, self.url)

    @override
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        if not self._thread.is_alive():
            reason = self._failure or "no error"
            raise IntakeError(f"the server of {self._webhook.name} has stopped: {reason}")
        return self._inbox.taken(limit, wait.total_seconds())

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Reply 204 to the senders."""
        self._respond(deliveries, None)

    def reject(self, delivery: Delivery, reason: str) -> None:
        """Reply 422 with the reason to the sender."""
        self._respond([delivery], Problem(422, reason))

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Reply 503 to the senders."""
        self._respond(deliveries, again("the message was not written to the topic"))

    def close(self) -> None:
        """Reply 503 to the senders of unsettled messages, and stop the server."""
        self._call(self._inbox.close)
        self._server.should_exit = True
        self._thread.join(_END_S)
        self._socket.close()

    def _respond(self, deliveries: Sequence[Delivery], problem: Problem | None) -> None:
        receipts = [delivery.receipt for delivery in deliveries]
        self._call(partial(self._inbox.answer, receipts, problem))

    def _call(self, action: Callable[[], None]) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(action)

    # ------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as exc:  # noqa: BLE001  # the runner's thread raises it
            self._failure = text_of(exc)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])

    def _await_start(self) -> None:
        end = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                self._server.should_exit = True
                self._socket.close()
                reason = self._failure or f"it was not ready within {_START_S:g} s"
                raise IntakeError(f"the server of {self._webhook.name} did not start: {reason}")
            time.sleep(_POLL_S)

    async def _answer(self, request: Request) -> Response:
        try:
            await self._take(request)
        except Problem as problem:
            return answer_of(problem)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected
        return Response(status_code=204)

    async def _take(self, request: Request) -> None:
        webhook, inbox = self._webhook, self._inbox
        if webhook.tokens:
            require(request.scope["role"], Role.DATA)
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "the body has a Content-Encoding; expected an uncompressed body")
        try:
            reading = inbox.body(request, webhook.max_bytes)
            data = await asyncio.wait_for(reading, webhook.send_within.total_seconds())
        except asyncio.TimeoutError as exc:
            raise Problem(
                408,
                f"the body did not arrive within {webhook.send_within.total_seconds():g} s",
                headers={"Connection": "close"},
            ) from exc
        try:
            body = bytes(data)
            identity = self._checked(request, body)
            headers = tuple(
                (name.lower(), value.encode("latin-1"))
                for name in webhook.keep_headers
                for value in request.headers.getlist(name)
            )
        except BaseException:
            inbox.forget(data)
            raise
        await inbox.put(data, lambda receipt: Delivery(body, receipt, identity, headers=headers))

    def _checked(self, request: Request, body: bytes) -> str | None:
        """Check signature and headers; return the message's id, or None if it has none."""
        webhook = self._webhook
        found = None
        if webhook.signature is not None:
            names = set(request.headers.keys())
            single = {
                name: values[0]
                for name in names
                if len(values := request.headers.getlist(name)) == 1
            }
            try:
                found = webhook.signature.check(single, body, webhook.clock.now_ms())
            except ValueError as exc:
                raise Problem(401, text_of(exc)) from exc
        if webhook.id_header is not None:
            given = request.headers.getlist(webhook.id_header)
            if len(given) != 1 or not given[0]:
                raise Problem(
                    400, f"expected one header {webhook.id_header}, with the id of the message"
                )
            found = given[0]
        return found


async def _live(_: Request) -> Response:
    return Response('{"live": true}', media_type="application/json")
