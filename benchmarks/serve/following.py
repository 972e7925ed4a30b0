"""A follower of a server, or an open page: the time at which each version is received.

    python -m benchmarks.serve.following PORT PATH SECONDS

Runs in a separate process, like the clients. Prints the wall-clock times in ms by version, as JSON.
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import re
import sys
import time

from benchmarks.serve.clients import TOKEN

__all__ = ()

_VERSION = re.compile(rb'data: {"version": (\d+)')


def follow(port: int, path: str, seconds: float) -> dict[int, float]:
    """Follow for some seconds; return the time at which each version was received."""
    heard: dict[int, float] = {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {os.environ[TOKEN]}", "Accept": "text/event-stream"}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = _VERSION.match(answer.readline())
        if found is not None:
            heard.setdefault(int(found[1]), time.time() * 1000)
    connection.close()
    return heard


def main() -> None:
    port, path, seconds = sys.argv[1:]
    gc.collect()
    gc.freeze()
    print(json.dumps(follow(int(port), path, float(seconds))))


if __name__ == "__main__":
    main()
