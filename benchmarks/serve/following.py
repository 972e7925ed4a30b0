"""A follower of a server: when it hears of each version. Or a page that is open.

    python -m benchmarks.serve.following PORT PATH SECONDS

A process of its own, as clients are. Prints the wall times, in ms, by version, as JSON.
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
    """Follow for some seconds; return when each version was heard of."""
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
