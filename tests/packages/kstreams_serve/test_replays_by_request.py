"""Replays for a request: in a process with limits, one at a time, without the tokens."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstreams_serve.code_runs import CodeRuns
from tests.packages.kstreams_explain.test_explained import lines
from tests.support.apps.replayed_app import Explained
from tests.support.servers.query_server import TOKEN, VIEWER, Served, serving
from tests.support.servers.showcase_pages import html
from tests.support.topologies import explained_topologies as made

MODULE = """
import os, sys, time
from tests.support.topologies.explained_topologies import Count, words

class Slow(Count):
    def process(self, record):
        if record.key == "sleep":
            time.sleep(60)
        if record.key == "eat":
            self.kept = bytearray(3 << 30)
        if record.key == "tell":
            open("told", "w").write(repr((sys.argv, dict(os.environ))))
        super().process(record)

topology = words(Slow)
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explained:
    (tmp_path / "served_words.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    found = Explained(tmp_path, made.words())
    for text in ("a b", "sleep", "eat", "tell"):
        found.batch(lines(text))
    return found


def served(app: Explained, ask: Callable[[Served], None]) -> None:
    code = (
        *("--checkpoint", str(app.hand.settings.checkpoint), "--topology", "served_words"),
        *("--data", str(app.hand.connection.root)),
    )
    with serving((Path(str(app.hand.settings.checkpoint)), made.COUNTS), code=code) as server:
        ask(server)


def wait_until(runs: CodeRuns, *, busy: bool) -> None:
    """Wait until the process is busy or not; the test's timeout is the limit."""
    while runs.is_busy != busy:
        time.sleep(0.005)


EXPLAIN = "/v1/apps/words/stores/counts/explain?key="


@pytest.mark.long
def test_explain_and_trace_requests_return_their_results(app: Explained) -> None:
    def ask(server: Served) -> None:
        found = server.get(f"{EXPLAIN}b")
        assert found.status == 200, found.data
        change = found.json["explained"][0]
        assert (found.json["value"], change["equal"]) == ([{"value": 1}], True)
        record = change["steps"][0]["record"]
        place = "&".join(f"{name}={record[name]}" for name in ("topic", "partition", "offset"))
        trace = server.get(f"/v1/apps/words/trace?{place}").json
        assert "wrote" in {step["what"] for step in trace["batches"][0]["steps"]}
        page = html(server, f"{EXPLAIN.removeprefix('/v1')}b")
        assert "The result is equal to the commit, byte for byte" in page.text
        of = f"{record['topic']}/{record['partition']}@{record['offset']}"
        assert (page.rows()[0][0].startswith(of), page.rows()[0][-1]) == (True, "1")
        history = html(server, "/apps/words/stores/counts/history?key=b")
        assert history.one("a", aria_label="Explain batch 0").text == "explain"
        went = html(server, f"/apps/words/trace?{place}")
        assert ("wrote" in went.text, "counts" in went.text) == (True, True)
        other = server.get(f"{EXPLAIN}b&batch=1")
        assert (other.status, "has not changed the key" in other.json["detail"]) == (409, True)
        for bad in (f"{EXPLAIN}b&batch=x", f"{EXPLAIN}b&limit=0", EXPLAIN[:-4] + "k=b"):
            assert server.get(bad).status == 400
        assert server.get("/v1/apps/words/trace?topic=lines&partition=0").status == 400
        assert server.get(f"{EXPLAIN}b", token=VIEWER).status == 403
        assert server.get(f"{EXPLAIN}--help").json["value"] == []

    served(app, ask)


@pytest.mark.long
def test_replay_processes_run_one_at_a_time_with_limits_and_without_tokens(
    app: Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSTREAMS_SERVE_TOKEN", TOKEN)

    def ask(server: Served) -> None:
        (change,) = server.get(f"{EXPLAIN}eat").json["explained"]
        assert change["equal"] is False  # it failed for lack of memory, and was skipped
        page = html(server, f"{EXPLAIN.removeprefix('/v1')}eat")
        assert "The result differs from the commit" in page.text
        assert server.get(f"{EXPLAIN}tell").status == 200
        told = Path("told").read_text()
        assert "explain" in told
        assert "PATH" in told
        assert TOKEN not in told
        runs = server.server.context.code_runs
        monkeypatch.setattr(runs, "_seconds", 3.0)
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(server.get(f"{EXPLAIN}sleep")))
        thread.start()
        wait_until(runs, busy=True)
        busy = server.get(f"{EXPLAIN}a")
        assert (busy.status, busy.headers["retry-after"]) == (503, "2")
        thread.join()
        assert answers[0].status == 504
        assert "more than 3 s" in answers[0].json["detail"]
        monkeypatch.setattr(runs, "_seconds", 60.0)
        gone = http.client.HTTPConnection("127.0.0.1", server.port)
        gone.request("GET", f"{EXPLAIN}sleep", headers={"Authorization": f"Bearer {TOKEN}"})
        wait_until(runs, busy=True)
        gone.close()
        wait_until(runs, busy=False)

    served(app, ask)


def test_server_without_topology_runs_no_user_code(app: Explained) -> None:
    with serving((Path(str(app.hand.settings.checkpoint)), made.COUNTS)) as server:
        found = server.get(f"{EXPLAIN}a")
        assert (found.status, "--topology" in found.json["hint"]) == (404, True)
        assert "--topology" in html(server, f"{EXPLAIN.removeprefix('/v1')}a", status=404).text
        page = html(server, "/apps/words/trace?topic=lines&partition=0&offset=7")
        assert "kstreams trace words lines/0@7 --topology MODULE:NAME" in page.text
