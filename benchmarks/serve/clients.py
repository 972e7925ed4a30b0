"""Clients of a server: at a steady rate, whatever the answers take, and as fast as they can."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable
from contextlib import closing

__all__ = ("client_of", "open_loop", "saturated")

PATH = "/v1/apps/bench/stores/counts/key"


class Client:
    def __init__(self, port: int, token: str, keys: int, seed: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random.Random(seed)
        self._keys = keys

    def read(self) -> None:
        key = f"key-{self._random.randrange(self._keys)}"
        self._connection.request("GET", f"{PATH}?key={key}", headers=self._headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {data!r}")

    def close(self) -> None:
        self._connection.close()


def open_loop(
    make: Callable[[int], Client], *, clients: int, rate: float, seconds: float
) -> list[float]:
    """Return how long each read took, counted from when it was due, in seconds.

    Args:
        make: Makes a client, of a seed.
        clients: At once.
        rate: Reads a second, of all together.
        seconds: For so long.
    """
    found: list[list[float]] = [[] for _ in range(clients)]
    begin = time.perf_counter() + 0.2

    def run(number: int) -> None:
        due = begin + number / rate
        with closing(make(number)) as client:
            while due < begin + seconds:
                time.sleep(max(0.0, due - time.perf_counter()))
                client.read()
                found[number].append(time.perf_counter() - due)
                due += clients / rate

    _all(run, clients)
    return sorted(each for own in found for each in own)


def saturated(make: Callable[[int], Client], *, clients: int, seconds: float) -> float:
    """Return how many reads a second come back when each client asks at once again."""
    counts = [0] * clients
    end = time.perf_counter() + seconds

    def run(number: int) -> None:
        with closing(make(number)) as client:
            while time.perf_counter() < end:
                client.read()
                counts[number] += 1

    _all(run, clients)
    return sum(counts) / seconds


def client_of(port: int, token: str, keys: int) -> Callable[[int], Client]:
    """Return what makes clients of a server."""
    return lambda seed: Client(port, token, keys, seed)


def _all(run: Callable[[int], None], clients: int) -> None:
    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
