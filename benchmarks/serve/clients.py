"""Clients of a server: at a fixed rate, independent of response times, or as fast as possible.

    python -m benchmarks.serve.clients PORT PATH CLIENTS SECONDS [RATE]

Clients run in a separate process: with more imports, a garbage collection would pause the process
for a tenth of a second, and the pause would count as response time. The token is in the
environment. Prints the seconds of each read as JSON, ascending; without a rate, prints reads per
second.
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
    """Reads from a server, one request after another.

    Args:
        port: The port of the server.
        token: One of the server's tokens.
        path: The path to read; `{1000000}` in the path is replaced by a random number from 1 to
            999,999 at each read.
        seed: The seed of the random numbers.
    """

    def __init__(self, port: int, token: str, path: str, seed: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random.Random(seed)
        self._before, _, rest = path.partition("{")
        most, _, self._after = rest.partition("}")
        self._most = int(most)

    def read(self) -> None:
        """Send one request and read the response.

        Raises:
            RuntimeError: The status of the response is not 200.
        """
        path = f"{self._before}{self._random.randrange(1, self._most)}{self._after}"
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {data!r}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def open_loop(
    make: Callable[[int], Client], *, clients: int, rate: float, seconds: float
) -> list[float]:
    """Return the seconds of each read, counted from the time at which the read was due.

    Args:
        make: Makes a client from a seed.
        clients: The number of concurrent clients.
        rate: Reads per second of all clients.
        seconds: The duration of the measurement.
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
    """Return reads per second when each client sends its next request immediately."""
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
