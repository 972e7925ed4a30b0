"""The command `pages`: size of the web pages, and the time until they are loaded and live."""

from __future__ import annotations

import argparse
import http.client
import json
import secrets
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from devtools.browser import chromium, chromium_path
from devtools.served_showcase import served_showcase
from devtools.showcase import LETTERS, Showcase
from kstreams.batch.report import AppState
from kstreams.clock import SystemClock

__all__ = ("measure_pages",)

_TOKEN = secrets.token_hex(16)
_APP = "/apps/word-count"
_PAGES = {
    "overview": _APP,
    "node": f"{_APP}/node?name=count",
    "tasks": f"{_APP}/tasks",
    "batches": f"{_APP}/batches",
    "stores": f"{_APP}/stores",
    "store": f"{_APP}/stores/counts",
    "diff": f"{_APP}/stores/counts/diff?before=0",
    "key": f"{_APP}/stores/counts/key?key=the",
    "history": f"{_APP}/stores/counts/history?key=the",
    "dropped": f"{_APP}/dropped",
    "letters": f"{_APP}/letters?topic={LETTERS}",
    "errors": f"{_APP}/errors",
    "versions": f"{_APP}/versions",
    "forecast": f"{_APP}/forecast",
}
_FOLLOWED = ("overview", "node", "tasks", "batches", "key", "dropped", "errors", "versions")


def measure_pages(options: argparse.Namespace) -> int:
    """Print the figures; this process serves the pages of an app with the given number of tasks."""
    with tempfile.TemporaryDirectory(prefix="kstreams-pages-") as home:
        now = SystemClock().now_ms() + 600_000  # so the app counts as running during the benchmark
        app = Showcase(Path(home), now, partitions=max(1, options.tasks // 2)).run(options.batches)
        app.set_aside(60)
        app.beat(AppState.RUNNING)
        with served_showcase(app, _TOKEN) as server:
            port = server.socket.getsockname()[1]
            sizes = {name: _asked(port, path, options.rounds) for name, path in _PAGES.items()}
            live = _live(port, options.rounds)
    print(json.dumps(machine()))
    print(f"{'page':10}{'bytes':>10}{'answer, ms':>12}{'live in Chromium, ms':>22}")
    for name, (size, seconds) in sizes.items():
        shown = f"{live[name]:,.0f}" if name in live else "-"
        print(f"{name:10}{size:10,}{1000 * seconds:12,.1f}{shown:>22}")
    return 0


def _asked(port: int, path: str, rounds: int) -> tuple[int, float]:
    """Return the size of a page, and its response time after a first request."""
    times = []
    size = 0
    for _ in range(rounds + 1):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Authorization": f"Bearer {_TOKEN}"})
        answer = connection.getresponse()
        size = len(answer.read())
        times.append(time.perf_counter() - begun)
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
    return size, median(times[1:])


def _live(port: int, rounds: int) -> dict[str, float]:
    """Return the milliseconds from the request to the first event, for pages that follow an app."""
    path = chromium_path()
    if path is None:
        return {}
    found = {}
    with chromium(path) as browser:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/login")
        page.fill("#token", _TOKEN)
        page.press("#token", "Enter")
        page.wait_for_url(f"http://127.0.0.1:{port}/")
        for name in _FOLLOWED:
            times = []
            for _ in range(rounds + 1):
                page.goto(f"http://127.0.0.1:{port}{_PAGES[name]}", wait_until="commit")
                page.locator("#pulse", has_text="Live").wait_for()
                times.append(page.evaluate("performance.now()"))
            found[name] = median(times[1:])
    return found
