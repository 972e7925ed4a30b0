"""A follower of a server: when it hears of each version."""

from __future__ import annotations

import http.client
import re
import threading
import time
from pathlib import Path

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.named_home import home_of

__all__ = ("Follower",)

_VERSION = re.compile(rb'data: {"version": (\d+)')


class Follower:
    """Follows a store in a thread, for some seconds.

    Args:
        port: Of the server.
        token: One of its tokens.
        seconds: For so long.
    """

    def __init__(self, port: int, token: str, seconds: float) -> None:
        self._heard: dict[int, float] = {}
        self._thread = threading.Thread(target=self._run, args=(port, token, seconds))
        self._thread.start()

    def _run(self, port: int, token: str, seconds: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        path = "/v1/apps/bench/stores/counts/follow"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = _VERSION.match(answer.readline())
            if found is not None:
                self._heard.setdefault(int(found[1]), time.time() * 1000)
        connection.close()

    def delays_ms(self, place: Path, query: str) -> list[float]:
        """Return how long after each commit it was heard of, sorted; the first is left out.

        Counted from the wall time that the commit names, before it was written.
        """
        self._thread.join()
        checkpoint = Checkpoint.load(home_of(place))
        commits = checkpoint.commits(query, checkpoint.log.open())
        heard = sorted(self._heard.items())[1:]
        return sorted(moment - commits.at(batch).wall_ms for batch, moment in heard)
