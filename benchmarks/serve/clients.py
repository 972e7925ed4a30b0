"""Clients of a server: at a steady rate, whatever the answers take, or as fast as they can.

    python -m benchmarks.serve.clients PORT PATH CLIENTS SECONDS [RATE]

A process of their own: whoever has imported more stops for a tenth of a second when Python
collects its garbage, which would be measured as the server's. The token is in the environment.
Prints the seconds of each read as JSON, rising; without a rate how many there were a second.
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

__all__ = ("TOKEN", "Client", "open_loop", "saturated")

TOKEN = "KSTREAMS_SERVE_TOKEN"  # noqa: S105  # the name of a variable


class Client:
    """Reads what a server has, one thing after another.

    Args:
        port: Of the server.
        token: One of its tokens.
        path: What is read: `{1000000}` in it is a number from 1 to below that, drawn each time.
        seed: Of the numbers.
    """

    def __init__(self, port: int, token: str, path: str, seed: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random.Random(seed)
        self._before, _, rest = path.partition("{")
        most, _, self._after = rest.partition("}")
        self._most = int(most)

    def read(self) -> None:
        """Read once.

        Raises:
            RuntimeError: It is not there, or not yet.
        """
        path = f"{self._before}{self._random.randrange(1, self._most)}{self._after}"
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {data!r}")

    def close(self) -> None:
        """End the connection."""
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


def _all(run: Callable[[int], None], clients: int) -> None:
    with ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(run, number) for number in range(clients)]:
            done.result()


def main() -> None:
    port, path, clients, seconds, *rate = sys.argv[1:]

    def make(seed: int) -> Client:
        return Client(int(port), os.environ[TOKEN], path, seed)

    gc.collect()
    gc.freeze()
    found: object = None
    if rate:
        found = open_loop(make, clients=int(clients), rate=float(rate[0]), seconds=float(seconds))
    else:
        found = saturated(make, clients=int(clients), seconds=float(seconds))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
