"""Reads over HTTP: each kind of read, at one version, by pages, and as views answer."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from kstreams import INT64, TEXT, View
from kstreams.checkpoint.savepoints import Savepoints
from kstreams.durations import milliseconds
from kstreams.serde.text import BYTES
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import FakeClock
from kstreams.windows import TumblingWindows, Windowed
from tests.kstreams.serve.serving import serving
from tests.kstreams.views.committing import Committing
from tests.kstreams.views.counted import COUNTS

STORE = "/v1/apps/viewed/stores/counts"


def test_a_key_now_and_earlier_and_by_savepoint(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("apple", 1), ("a/b%é", 7)])
    Savepoints(app.checkpoint, app.objects).create("then", FakeClock())
    with serving((tmp_path, COUNTS)) as served:
        found = served.get(f"{STORE}/key?key=apple")
        assert (found.status, found.json, found.version) == (
            200, {"key": "apple", "rows": [{"value": 1}]}, 0,
        )  # fmt: skip
        same = served.get(f"{STORE}/key?key=apple", If_None_Match=found.headers["etag"])
        assert (same.status, same.data) == (304, b"")
        assert (
            served.get(f"{STORE}/key?key={quote('a/b%é', safe='')}").json["rows"][0]["value"] == 7
        )
        app.put([("apple", 2)])
        waited = served.get(f"{STORE}/key?key=apple&min_version=1")
        assert (waited.json["rows"], waited.version) == ([{"value": 2}], 1)
        for as_of in ("0", "then"):
            old = served.get(f"{STORE}/key?key=apple&as_of={as_of}")
            assert (old.json["rows"], old.version) == ([{"value": 1}], 0)
        assert served.get(f"{STORE}/key?key=pear").status == 404
        assert served.get(f"{STORE}/key?key=apple&as_of=9").status == 410
        assert served.get(f"{STORE}/key?key=apple&as_of=never").status == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("reverse=false", [f"k{n:02}" for n in range(30)]),
        ("start=k05&end=k20", [f"k{n:02}" for n in range(5, 20)]),
        ("reverse=true&start=k05&end=k20", [f"k{n:02}" for n in range(19, 4, -1)]),
        ("prefix=k2", [f"k{n:02}" for n in range(20, 30)]),
        ("prefix=k2&reverse=true", [f"k{n:02}" for n in range(29, 19, -1)]),
    ],
)
def test_pages_of_one_cursor_are_of_one_version(
    tmp_path: Path, query: str, expected: list[str]
) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n:02}", n) for n in range(30))
    with serving((tmp_path, COUNTS)) as served:
        page = served.get(f"{STORE}/rows?limit=7&{query}")
        rows = page.json["rows"]
        while page.json["cursor"]:
            app.put((f"k{n:02}", -1) for n in range(40))  # of which no page may show anything
            page = served.get(f"{STORE}/rows?limit=7&cursor={page.json['cursor']}")
            assert (page.status, page.version) == (200, 0)
            rows += page.json["rows"]
    assert [row["key"] for row in rows] == expected
    assert all(row["value"] >= 0 for row in rows)


def test_a_cursor_whose_version_is_gone_says_so(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n}", n) for n in range(9))
    with serving((tmp_path, COUNTS)) as served:
        cursor = served.get(f"{STORE}/rows?limit=2").json["cursor"]
        for turn in range(12):
            app.put([("k1", turn)])
            served.until(f"{STORE}/key?key=k1&min_version={turn + 1}", lambda a: a.status == 200)
        app.sweep(1)
        gone = served.get(f"{STORE}/rows?cursor={cursor}")
        assert (gone.status, "is gone" in gone.json["detail"]) == (410, True)


def test_windows_of_a_key_and_of_all(tmp_path: Path) -> None:
    spec = window_store("counts", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10)))
    app = Committing(tmp_path, spec)
    app.commit(lambda s, p: [s.put(Windowed(f"k{p}", t, t + 10), t) for t in (10, 20, 30)])
    with serving((tmp_path, spec)) as served, View(tmp_path, spec) as view:
        pages = served.get(f"{STORE}/rows?limit=1000").json["rows"]
        assert [(r["key"], r["start_ms"], r["value"]) for r in pages] == [
            (w.key, w.start_ms, v) for w, v in view.fetch_all()
        ]
        keys = [served.get(f"{STORE}/key?key=k{p}&from=15&to=25") for p in range(3)]
        found = [key.json["rows"] for key in keys if key.status == 200]
        assert all(rows == [{"start_ms": 20, "value": 20}] for rows in found)


def test_many_keys_and_stores_at_one_version(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n}", n) for n in range(9))
    with serving((tmp_path, COUNTS)) as served:
        found = served.post(f"{STORE}/multi", {"keys": ["k1", "none", "k8"]})
        assert [each["rows"] for each in found.json["found"]] == [
            [{"value": 1}],
            [],
            [{"value": 8}],
        ]
        read = served.post(
            "/v1/apps/viewed/read", {"reads": [{"store": "counts", "key": k} for k in ("k1", "k2")]}
        )
        assert [each["rows"][0]["value"] for each in read.json["found"]] == [1, 2]
        assert read.version == 0


def test_what_json_would_change_is_text(tmp_path: Path) -> None:
    spec = key_value_store("counts", key=BYTES, value=INT64)
    app = Committing(tmp_path, spec, key=BYTES)
    app.commit(lambda s, p: s.put(b"\xff\x00", 2**60) if p == 0 else None)
    with serving((tmp_path, spec)) as served:
        rows = served.get(f"{STORE}/rows").json["rows"]
        assert rows == [{"key": {"base64": "/wA="}, "value": str(2**60)}]


def test_the_app_and_its_store_are_described(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        assert served.get("/v1/apps").json == {"apps": [{"app": "viewed"}]}
        (store,) = served.get("/v1/apps/viewed").json["stores"]
        assert (store["store"], store["kind"], store["partitions"]) == ("counts", "key-value", 3)
        found = served.get(STORE).json
        assert (found["version"], found["versions"], found["routing"]) == (0, [0], "murmur2")
        document = served.get("/openapi.json").json
        assert "/v1/apps/{app}/stores/{store}/key" in document["paths"]


def test_a_reset_is_seen_and_a_removed_checkpoint_said(tmp_path: Path) -> None:
    Committing(tmp_path / "c", COUNTS).put([("a", 1)])
    with serving((tmp_path / "c", COUNTS)) as served:
        assert served.get(f"{STORE}/key?key=a").json["rows"] == [{"value": 1}]
        (tmp_path / "c").rename(tmp_path / "gone")
        served.until(f"{STORE}/key?key=a", lambda answer: answer.status == 503)
        assert served.get("/health/ready", token=None).status == 503
        assert served.get("/health/live", token=None).status == 200
        Committing(tmp_path / "c", COUNTS).put([("a", 5)])
        served.until(
            f"{STORE}/key?key=a", lambda a: a.status == 200 and a.json["rows"][0] == {"value": 5}
        )
