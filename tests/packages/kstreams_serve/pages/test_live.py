"""An open page receives only those of its regions that change."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kstreams.clock import SystemClock
from kstreams_serve.pages.rendering import regions_of
from tests.support.servers.query_server import TOKEN, VIEWER, Served
from tests.support.servers.showcase_pages import paths_of, showcase, showing


@contextmanager
def _events(served: Served, path: str, token: str = TOKEN) -> Iterator[Iterator[dict[str, str]]]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-type")) == (200, "text/event-stream")

        def events() -> Iterator[dict[str, str]]:
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

        yield events()
    finally:
        connection.close()


def test_live_events_contain_changed_regions_as_in_reloaded_page(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms() + 60_000, 3)
    with showing(app) as served:
        paths = paths_of(app)
        with (
            _events(served, paths["overview"]) as overview,
            _events(served, paths["key"]) as key,
            _events(served, paths["overview"], VIEWER) as viewed,
        ):
            first = next(overview)
            assert set(first) == {
                "state", "paused", "figures", "worst", "topology", "nodes", "pause",
            }  # fmt: skip
            shown = regions_of(served.get(paths["overview"]).data.decode())
            assert {name: first[name] for name in ("topology", "state")} == {
                name: shown[name] for name in ("topology", "state")
            }
            before = next(key)["value"]
            assert "role=data" not in "".join(next(viewed).values())
            app.commit(app.now_ms)
            after = next(event["nodes"] for event in overview if "nodes" in event)
            assert after != first["nodes"]
            assert next(event["value"] for event in key if "value" in event) != before


@pytest.mark.long
def test_live_events_of_unchanged_page_are_empty(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms() - 3_600_000, 1, recorded=False)
    with showing(app) as served, _events(served, paths_of(app)["versions"]) as events:
        assert next(events)
        assert next(events) == {}


def test_live_events_of_page_need_role_of_page(tmp_path: Path) -> None:
    app = showcase(tmp_path, SystemClock().now_ms(), 1)
    with showing(app) as served:
        for name, token, status in (("key", VIEWER, 403), ("overview", None, 401)):
            answer = served.get(paths_of(app)[name], token=token, Accept="text/event-stream")
            assert answer.status == status
