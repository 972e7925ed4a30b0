"""Senders of webhooks, which sign and retry."""

from __future__ import annotations

import hmac
import http.client
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from devtools.servers.ports import free_ports
from kstreams.intakes import HmacSignature, IntakeReport, IntakeRunner, Webhook

__all__ = ("SECRET", "Answer", "Retrying", "hook", "running", "sent", "signed")

SECRET = "a secret of the tests"
_DONE = (204, 400, 401, 413, 415, 422)


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def hook(**given: Any) -> Webhook:
    """Return a webhook at a free port, with ids in a header."""
    signature = HmacSignature((SECRET,), prefix="sha256=")
    named = {"port": free_ports(1)[0], "id_header": "x-id", **given}
    return Webhook("/orders", given.pop("signature", signature), **named)


def signed(body: bytes, identity: str = "id-1") -> dict[str, str]:
    """Return the headers of a valid request."""
    digest = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    return {"x-hub-signature-256": f"sha256={digest}", "x-id": identity}


def sent(
    port: int,
    body: bytes,
    headers: Mapping[str, str],
    path: str = "/orders",
    method: str = "POST",
) -> Answer:
    """Send a request once."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, dict(headers))
        found = connection.getresponse()
        named = {name.lower(): value for name, value in found.getheaders()}
        return Answer(found.status, named, found.read())
    finally:
        connection.close()


class Retrying:
    """Sends messages in order, each until it is accepted or permanently refused.

    Args:
        port: Port of the webhook.
        messages: Ids and bodies.

    Attributes:
        settled: Ids of messages with the response 204.
    """

    def __init__(self, port: int, messages: Sequence[tuple[str, bytes]]) -> None:
        self.settled: list[str] = []
        self._port = port
        self._messages = messages
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for identity, body in self._messages:
            while not self._stop.is_set():
                try:
                    status = sent(self._port, body, signed(body, identity)).status
                except (OSError, http.client.HTTPException):
                    status = 0
                if status in _DONE:
                    self.settled += [identity] if status == 204 else []
                    break
                time.sleep(0.01)

    def wait(self, seconds: float) -> bool:
        """Wait until all are sent; return whether they are."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)


@contextmanager
def running(runner: IntakeRunner, *, within: float = 20.0) -> Iterator[list[IntakeReport]]:
    """Run the intake in a thread; yield the list that has the report at the end."""
    reports: list[IntakeReport] = []
    thread = threading.Thread(target=lambda: reports.append(runner.run()))
    thread.start()
    try:
        yield reports
    finally:
        runner.stop()
        thread.join(within)
        assert not thread.is_alive()
