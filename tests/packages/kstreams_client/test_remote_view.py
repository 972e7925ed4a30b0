"""A remote view reads as a local view does, and trusts neither the network nor the server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT, View
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.durations import milliseconds
from kstreams.errors import (
    CheckpointMismatchError,
    SavepointError,
    ServerRefusedError,
    ServerUnavailableError,
    StoreError,
)
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import list_store
from kstreams.testing import FakeClock
from kstreams.windowed import Windowed
from kstreams.windows import TumblingWindows
from kstreams_client.remote_view import RemoteView
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import TOKEN, VIEWER, Served, serving

SHORT = timedelta(seconds=3)


def remote(served: Served, spec: Any = COUNTS, **options: Any) -> RemoteView[Any]:
    return RemoteView(served.server.url, spec, token=TOKEN, **options)


def caught_up(view: RemoteView[Any], version: int) -> None:
    """Wait until the server has a version."""
    seen = threading.Event()
    with view.follow(lambda found: seen.set() if found >= version else None, poll=SHORT / 300):
        assert seen.wait(20)


def test_remote_view_has_all_methods_of_a_view() -> None:
    assert [name for name in dir(View) if not name.startswith("_")] == [
        name for name in dir(RemoteView) if not name.startswith("_")
    ]


_OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("get"), st.sampled_from("abcdefgh")),
        st.tuples(st.just("has"), st.sampled_from("abcdefgh")),
        st.tuples(
            st.just("range"),
            st.none() | st.sampled_from("abcdefgh"),
            st.none() | st.sampled_from("abcdefgh"),
            st.booleans(),
        ),
        st.tuples(st.just("prefix"), st.sampled_from("abcdefgh"), st.booleans()),
    ),
    min_size=1,
    max_size=6,
)


def result(view: Any, operation: tuple[Any, ...]) -> object:
    match operation:
        case "get", key:
            return view.get(key)
        case "has", key:
            return view.has(key)
        case "range", start, end, reverse:
            return list(view.range(start, end, reverse=reverse))
    _, prefix, reverse = operation
    return list(view.prefix_scan(prefix.encode(), reverse=reverse))


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(
    changes=st.lists(
        st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 9), max_size=6),
        min_size=1,
        max_size=5,
    ),
    operations=_OPERATIONS,
    reset_at=st.none() | st.integers(1, 4),
)
def test_remote_view_equals_a_local_view_at_its_version(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[dict[str, int | None]],
    operations: list[tuple[Any, ...]],
    reset_at: int | None,
) -> None:
    """Also after a reset of the app, and for each retained version."""
    path = tmp_path_factory.mktemp("remote")
    app = Committing(path / "c", COUNTS)
    app.put([])
    with serving((app.path, COUNTS)) as served, remote(served) as view:
        for number, change in enumerate(changes):
            if number == reset_at:
                shutil.rmtree(app.path)
                app = Committing(app.path, COUNTS)
                app.put([("a", -1)])
            version = app.put(change.items())
            served.until(
                f"/v1/apps/viewed/stores/counts/key?key=none&min_version={version}",
                lambda answer: answer.version == version,  # noqa: B023  # called at once
            )
            with View(app.path, COUNTS) as local:
                for operation in operations:
                    assert result(view, operation) == result(local, operation), operation
                    assert (view.version, view.wall_ms) == (local.version, local.wall_ms)
        for version in view.versions():
            with (
                View(app.path, COUNTS, as_of=version) as local,
                remote(served, as_of=version) as old,
            ):
                for operation in operations:
                    assert result(old, operation) == result(local, operation)
                assert (old.version, old.wall_ms) == (version, local.wall_ms)


def of_key(fill: Callable[[Any, str], object]) -> Callable[[Any, int], object]:
    return lambda store, partition: [fill(store, f"{key}{partition}") for key in "abc"]


KINDS: dict[str, tuple[Any, Callable[[Any, str], object], Callable[[Any], object]]] = {
    "windows": (
        window_store("s", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10))),
        lambda s, key: [s.put(Windowed(key, t, t + 10), t) for t in (0, 10, 20)],
        lambda v: (
            v.get(Windowed("a1", 10, 20)), list(v.fetch("b1", 5, 25)),
            list(v.fetch("b1", reverse=True)), list(v.fetch_all(0, 11)),
            list(v.fetch_all(reverse=True)), list(v.fetch_range("a0", "b2", 0, 20)),
        ),
    ),
    "sessions": (
        session_store("s", key=TEXT, value=INT64),
        lambda s, key: s.put(Windowed(key, 5, 9), 1),
        lambda v: (v.get(Windowed("a2", 5, 9)), list(v.fetch("b1")), list(v.fetch_all())),
    ),
    "timestamped": (
        timestamped_store("s", key=TEXT, value=INT64),
        lambda s, key: s.put(key, 1, 77),
        lambda v: (v.get("a0"), v.has("x"), list(v.range("b"))),
    ),
    "versioned": (
        versioned_key_value_store("s", key=TEXT, value=INT64, retention=timedelta(seconds=9)),
        lambda s, key: [s.put(key, t, t) for t in (10, 20)],
        lambda v: (v.get("a0"), v.get("a0", 15), list(v.history("b1", 5, 25)), list(v.items())),
    ),
    "lists": (
        list_store("s", key=TEXT, value=INT64),
        lambda s, key: [s.append(key, n) for n in range(3)],
        lambda v: (v.get("a0"), v.get("x"), list(v.items())),
    ),
    "expiring by wall time": (
        key_value_store("s", key=TEXT, value=INT64, ttl=milliseconds(1_001), ttl_clock="wall"),
        lambda s, key: s.put(key, 1),
        lambda v: (v.get("a0"), len(list(v.items()))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_remote_view_reads_each_kind_of_store_like_local_view(tmp_path: Path, kind: str) -> None:
    spec, fill, look = KINDS[kind]
    app = Committing(tmp_path, spec, key=DOUBLE)  # so that keys may be in any partition
    app.commit(of_key(fill))
    with (
        serving((tmp_path, spec)) as served,
        remote(served, spec) as view,
        View(tmp_path, spec) as local,
    ):
        assert look(view) == look(local)


def test_remote_view_methods_read_read_key_and_scan_call_given_functions(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n:03}", n) for n in range(300))
    with serving((tmp_path, COUNTS)) as served, remote(served) as view:
        assert view.read(lambda stores: sum(len(list(s.range())) for s in stores)) == 300
        assert view.read_key("k007", lambda store: store.get("k007")) == 7
        rows = view.scan(lambda store: store.range(reverse=True), order=str, reverse=True)
        assert [key for key, _ in rows] == [f"k{n:03}" for n in reversed(range(300))]


def test_remote_iteration_stays_at_its_version(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n:03}", 1) for n in range(700))
    with serving((tmp_path, COUNTS)) as served, remote(served) as view:
        scan = view.items()
        seen = [next(scan)]
        app.put((f"k{n:03}", 2) for n in range(800))
        with remote(served) as other:
            caught_up(other, 1)
        assert (view.get("k002"), view.refresh()) == (1, 0)
        seen += scan
        assert seen == [(f"k{n:03}", 1) for n in range(700)]
        assert (view.get("k002"), view.version) == (2, 1)


def test_remote_iteration_begun_before_first_version_stays_empty(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    with serving((tmp_path, COUNTS)) as served, remote(served) as view:
        scan = view.items()
        app.put([("a", 1)])
        with remote(served) as other:
            caught_up(other, 0)
        assert (view.get("a"), view.version) == (None, None)
        assert list(scan) == []
        assert (view.get("a"), view.version) == (1, 0)


def test_remote_view_reads_versions_and_savepoints(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    Savepoints(app.checkpoint, app.objects).create("then", FakeClock())
    app.put([("a", 2)])
    with serving((tmp_path, COUNTS)) as served:
        with remote(served, as_of="then") as then:
            assert (then.get("a"), then.version, then.refresh()) == (1, 0, 0)
        with pytest.raises(StoreError, match="version 9 of store 'counts' is not retained"):
            remote(served, as_of=9)
        with pytest.raises(SavepointError):
            remote(served, as_of="never")


def test_remote_view_refuses_wrong_store_app_or_token(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    other = key_value_store("counts", key=TEXT, value=DOUBLE)
    with serving((tmp_path, COUNTS)) as served:
        with pytest.raises(CheckpointMismatchError, match=r"int64.* on the server, but .*double"):
            remote(served, other)
        with pytest.raises(CheckpointMismatchError, match="no app 'x': the server has 'viewed'"):
            remote(served, app="x")
        with pytest.raises(CheckpointMismatchError, match="app 'viewed' has no store 'none'"):
            remote(served, key_value_store("none", key=TEXT, value=INT64))
        for token in ("a-token-of-nobody-at-all", ""):
            with pytest.raises(ServerRefusedError):
                RemoteView(served.server.url, COUNTS, token=token)
        with (
            RemoteView(served.server.url, COUNTS, token=VIEWER) as viewer,
            pytest.raises(ServerRefusedError, match="needs the role data"),
        ):
            viewer.get("a")
        view = remote(served)
        view.close()
        with pytest.raises(StoreError, match="is closed"):
            view.get("a")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org:8080",
        "http://10.0.0.1:8080",
        "http://127.0.0.1.example.org",
        "ftp://127.0.0.1",
        "http://user:secret@127.0.0.1:8080",
        "http://127.0.0.1:8080/x?token=abc",
        "127.0.0.1:8080",
        "http://127.0.0.1:70000",
    ],
)
def test_remote_view_sends_token_only_to_its_server(url: str) -> None:
    """It is sent neither unencrypted to another machine nor to an invalid address."""
    with pytest.raises(ServerRefusedError) as caught:
        RemoteView(url, COUNTS, token=TOKEN)
    assert "secret" not in str(caught.value)


def test_remote_view_of_unreachable_server_raises(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        view = remote(served, timeout=SHORT)
        assert view.get("a") == 1
    with pytest.raises(ServerUnavailableError, match="does not answer"):
        view.get("a")
    view.close()


INFO = {
    "schema": COUNTS.schema(), "epoch": "x", "partitions": 1, "routing": None, "version": 3,
    "wall_ms": 5, "versions": [3],
}  # fmt: skip


@contextmanager
def lying(rows: bytes, status: int = 200) -> Iterator[str]:
    """Serve a store whose rows are these bytes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            content = {"apps": [{"app": "viewed"}]} if self.path == "/v1/apps" else INFO
            self.answer(200, json.dumps(content).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(status, rows)

        def answer(self, code: int, data: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def head(**fields: object) -> bytes:
    said = {"version": 3, "wall_ms": 5, "time": 1, "ended": False, **fields}
    text = json.dumps(said).encode()
    return len(text).to_bytes(4, "little") + text


@pytest.mark.parametrize(
    "rows",
    [b"", b"{}", b"\xff" * 40, head(version="3"), head(), head() + b"\1\0\0\0\xff\0\0\0k"],
    ids=["nothing", "text", "length", "version", "no key", "cut"],
)
def test_invalid_rows_of_server_raise_store_error(rows: bytes) -> None:
    with (
        lying(rows) as url,
        RemoteView(url, COUNTS, token=TOKEN, timeout=SHORT) as view,
        pytest.raises(StoreError),
    ):
        view.get("a")


def test_token_is_not_sent_to_target_of_redirect(tmp_path: Path) -> None:
    with (
        lying(b"", status=302) as url,
        RemoteView(url, COUNTS, token=TOKEN, timeout=SHORT) as view,
        pytest.raises(ServerRefusedError, match="answers 302"),
    ):
        view.get("a")


def test_remote_view_refuses_store_with_other_windows_than_server(tmp_path: Path) -> None:
    def store(size: int) -> Any:
        windows = TumblingWindows(timedelta(minutes=size))
        return window_store("counts", key=TEXT, value=INT64, windows=windows)

    Committing(tmp_path, store(1)).commit(lambda live, partition: None)
    with serving((tmp_path, store(1))) as served:
        remote(served, store(1)).close()
        with pytest.raises(CheckpointMismatchError, match="size was 0:01:00, now 0:07:00"):
            remote(served, store(7))
