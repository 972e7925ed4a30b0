"""Reads over HTTP: each kind of read, at one version, with paging, equal to those of views."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from kstreams import DOUBLE, INT64, TEXT, Serde, View
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.durations import milliseconds
from kstreams.partitioner import partition_of
from kstreams.serde.text import BYTES
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import FakeClock
from kstreams.windows import TumblingWindows, Windowed
from kstreams_admin.recorded import RecordedSerde
from kstreams_serve.settings import Limits
from tests.support.apps.committing_app import PARTITIONS, Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import VIEWER, serving

STORE = "/v1/apps/viewed/stores/counts"


class Lone(Serde[str]):
    """Text with lone surrogates in it."""

    name = "lone"
    type_token = str

    def serialize(self, value: str) -> bytes:
        return value.encode("utf-8", "surrogatepass")

    def deserialize(self, data: bytes) -> str:
        return data.decode("utf-8", "surrogatepass")


LONE = Lone()


def test_key_is_read_at_present_earlier_and_savepoint_version(tmp_path: Path) -> None:
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
def test_pages_of_one_cursor_have_same_version(
    tmp_path: Path, query: str, expected: list[str]
) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n:02}", n) for n in range(30))
    with serving((tmp_path, COUNTS)) as served:
        page = served.get(f"{STORE}/rows?limit=7&{query}")
        rows = page.json["rows"]
        while page.json["cursor"]:
            app.put((f"k{n:02}", -1) for n in range(40))  # no page may show any of these
            page = served.get(f"{STORE}/rows?limit=7&cursor={page.json['cursor']}")
            assert (page.status, page.version) == (200, 0)
            rows += page.json["rows"]
    assert [row["key"] for row in rows] == expected
    assert all(row["value"] >= 0 for row in rows)


def test_cursor_of_a_deleted_version_gets_410(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("query", ["", "&reverse=true", "&prefix=k"])
def test_cursor_does_not_continue_after_a_reset(tmp_path: Path, query: str) -> None:
    path = tmp_path / "c"
    Committing(path, COUNTS).put((f"k{n}", n) for n in range(9))
    with serving((path, COUNTS)) as served:
        first = served.get(f"{STORE}/rows?limit=2{query}")
        key = served.get(f"{STORE}/key?key=k1")
        shutil.rmtree(path)
        Committing(path, COUNTS).put((f"k{n}", 100) for n in range(9))  # batch 0 again
        served.until(
            f"{STORE}/key?key=k1", lambda answer: answer.json.get("rows") == [{"value": 100}]
        )
        assert served.get(f"{STORE}/rows?cursor={first.json['cursor']}").status == 410
        again = served.get(f"{STORE}/key?key=k1", If_None_Match=key.headers["etag"])
        assert (again.status, again.version) == (200, key.version)


def test_read_at_time_selects_version_committed_before(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    for value in range(4):  # committed at 1.000 s, 1.001 s, ...
        app.put([("a", value)])
    with serving((tmp_path, COUNTS)) as served:
        for at, value in (
            ("@1000", 0),
            ("1970-01-01T00:00:01.001Z", 1),
            ("1970-01-01T00:00:01.002", 2),
            ("2026-11-22T05:00:00Z", 3),
        ):
            found = served.get(f"{STORE}/key?key=a&at={at}")
            assert found.json["rows"] == [{"value": value}]
            assert found.headers["kstreams-committed-at"] == f"1970-01-01T00:00:01.00{value}Z"
            assert served.get(f"{STORE}/rows?at={at}").json["rows"][0]["value"] == value
            many = served.post(f"{STORE}/multi", {"keys": ["a"], "at": at})
            assert (many.version, many.json["found"][0]["rows"]) == (value, [{"value": value}])
        assert served.get(f"{STORE}/key?key=a&at=@999").status == 410
        assert served.get(f"{STORE}/key?key=a&at=yesterday").status == 400
        assert served.get(f"{STORE}/key?key=a&at=@1000&as_of=1").status == 400


def test_read_of_a_missing_version_times_out(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with serving((tmp_path, COUNTS), limits=replace(Limits(), wait_seconds=0.05)) as served:
        assert served.get(f"{STORE}/key?key=a&min_version=1").status == 504
        assert served.post(f"{STORE}/multi", {"keys": ["a"], "min_version": 1}).status == 504


def test_windows_are_read_for_a_key_and_for_all_keys(tmp_path: Path) -> None:
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
        some = served.get(f"{STORE}/rows?from=20&to=30").json["rows"]
        assert some == [row for row in pages if row["start_ms"] == 20]
        one = served.get(f"{STORE}/rows?start=k1&end=k2&reverse=true").json["rows"]
        assert one == [row for row in reversed(pages) if row["key"] == "k1"]
    with serving((tmp_path, spec), limits=replace(Limits(), read_seconds=0.0)) as slow:
        path = f"{STORE}/rows?start=k1&end=k2"
        seen = []
        for _ in range(20):  # each page has time to read one row
            page = slow.get(path).json
            seen += page["rows"]
            if page["cursor"] is None:
                break
            path = f"{STORE}/rows?cursor={page['cursor']}"
        assert seen == list(reversed(one))


def test_time_parameters_are_refused_for_stores_without_times(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    with serving((tmp_path, COUNTS)) as served:
        assert served.get(f"{STORE}/rows?from=1").status == 400
        assert served.get(f"{STORE}/key?key=a&from=1").status == 400


def test_several_keys_and_stores_are_read_at_one_version(tmp_path: Path) -> None:
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
        app.put([("k1", 100), ("k2", 200)])
        served.until(f"{STORE}/key?key=k1&min_version=1", lambda answer: answer.version == 1)
        reads = [{"store": "counts", "key": key} for key in ("k1", "k2")]
        before = served.post("/v1/apps/viewed/read", {"reads": reads, "as_of": 0})
        assert (before.version, before.json) == (0, read.json)
        wrong = served.post("/v1/apps/viewed/read", {"reads": [{**reads[0], "as_of": 0}]})
        assert wrong.status == 400


def test_values_that_json_cannot_represent_exactly_are_returned_as_text(tmp_path: Path) -> None:
    spec = key_value_store("counts", key=BYTES, value=INT64)
    app = Committing(tmp_path, spec, key=BYTES)
    app.commit(lambda s, p: s.put(b"\xff\x00", 2**60) if p == 0 else None)
    with serving((tmp_path, spec)) as served:
        rows = served.get(f"{STORE}/rows").json["rows"]
        assert rows == [{"key": {"base64": "/wA="}, "value": str(2**60)}]


@pytest.mark.parametrize(
    ("serde", "keys"),
    [
        (TEXT, ["", "a b", "é/%", "\x00", "null", "7", '"quoted"']),
        (BYTES, [b"", b"\xff\x00", b"a"]),
        (INT64, [0, -1, 2**53 + 1, -(2**63)]),
        (DOUBLE, [0.5, -1.0, float("inf")]),
    ],
    ids=["text", "bytes", "int64", "double"],
)
def test_key_in_a_response_is_valid_in_a_request(
    tmp_path: Path, serde: Any, keys: list[Any]
) -> None:
    spec = key_value_store("counts", key=serde, value=INT64)
    app = Committing(tmp_path, spec, key=serde)
    rule = partition_of
    app.commit(
        lambda s, p: [
            s.put(key, number)
            for number, key in enumerate(keys)
            if rule(serde.serialize(key), PARTITIONS) == p
        ]
    )
    with serving((tmp_path, spec)) as served:
        rows = served.get(f"{STORE}/rows").json["rows"]
        assert sorted(row["value"] for row in rows) == list(range(len(keys)))
        for row in rows:
            text = quote(json.dumps(row["key"]), safe="")
            found = served.get(f"{STORE}/key?key={text}&key_format=json").json
            assert found == {"key": row["key"], "rows": [{"value": row["value"]}]}
            raw = b64encode(serde.serialize(keys[row["value"]])).decode()
            coded = served.get(f"{STORE}/key?key={quote(raw, safe='')}&key_format=base64")
            assert coded.json == found
        body = {"keys": [row["key"] for row in rows], "key_format": "json"}
        many = served.post(f"{STORE}/multi", body).json["found"]
        assert [each["rows"][0]["value"] for each in many] == [row["value"] for row in rows]


def test_keys_are_paged_in_the_order_of_their_serde(tmp_path: Path) -> None:
    """The ordered bytes of a serde may differ from its encoding."""
    spec = key_value_store("counts", key=INT64, value=INT64)
    app = Committing(tmp_path, spec, key=INT64)
    keys = [-300, -2, -1, 0, 1, 2, 255, 256, 70_000]
    app.commit(
        lambda s, p: [
            s.put(key, key) for key in keys if partition_of(INT64.serialize(key), PARTITIONS) == p
        ]
    )
    with serving((tmp_path, spec)) as served:
        for query, expected in (("", keys), ("&reverse=true", keys[::-1]), ("&start=-1", keys[2:])):
            page = served.get(f"{STORE}/rows?limit=2{query}").json
            seen = [row["key"] for row in page["rows"]]
            while page["cursor"]:
                page = served.get(f"{STORE}/rows?limit=2&cursor={page['cursor']}").json
                seen += [row["key"] for row in page["rows"]]
            assert seen == expected


def test_invalid_unicode_is_escaped(tmp_path: Path) -> None:
    spec = key_value_store("counts", key=TEXT, value=LONE)
    app = Committing(tmp_path, spec)
    app.commit(lambda s, p: s.put("a", "\ud800") if p == partition_of(b"a", PARTITIONS) else None)
    with serving((tmp_path, spec)) as served:
        answer = served.get(f"{STORE}/key?key=a")
        assert answer.data.decode("ascii")
        assert answer.json["rows"] == [{"value": "\ud800"}]


def test_app_and_store_requests_return_their_descriptions(tmp_path: Path) -> None:
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


def test_server_detects_reset_and_reports_removed_checkpoint(tmp_path: Path) -> None:
    Committing(tmp_path / "c", COUNTS).put([("a", 1)])
    with serving((tmp_path / "c", COUNTS)) as served:
        assert served.get(f"{STORE}/key?key=a").json["rows"] == [{"value": 1}]
        (tmp_path / "c").rename(tmp_path / "gone")
        served.until(f"{STORE}/key?key=a", lambda answer: answer.status == 503)
        ready = served.get("/health/ready", token=None)
        assert (ready.status, str(tmp_path) in ready.data.decode()) == (503, False)
        told = served.get("/v1/apps/viewed")
        viewer = served.get("/v1/apps/viewed", token=VIEWER)
        assert (told.status, viewer.status) == (503, 503)
        assert told.json["type"] == viewer.json["type"] == "urn:kstreams:NoCheckpointError"
        assert str(tmp_path) in told.json["detail"]
        assert str(tmp_path) not in viewer.data.decode()
        assert served.get("/health/live", token=None).status == 200
        Committing(tmp_path / "c", COUNTS).put([("a", 5)])
        served.until(
            f"{STORE}/key?key=a", lambda a: a.status == 200 and a.json["rows"][0] == {"value": 5}
        )


def test_key_of_a_versioned_store_has_the_validity_of_each_version(tmp_path: Path) -> None:
    spec = versioned_key_value_store("counts", key=TEXT, value=INT64, retention=milliseconds(1_000))
    app = Committing(tmp_path, spec)
    app.commit(lambda store, _: [store.put("a", t * 100, t) for t in (1, 9)])
    with serving((tmp_path, spec)) as served:
        assert served.get(f"{STORE}/key?key=a").json["rows"] == [
            {"valid_from_ms": 1, "valid_to_ms": 9, "value": 100},
            {"valid_from_ms": 9, "valid_to_ms": None, "value": 900},
        ]


def test_response_with_undecoded_values_has_a_note(tmp_path: Path) -> None:
    Committing(tmp_path, COUNTS).put([("a", 1)])
    spec = key_value_store("counts", key=TEXT, value=RecordedSerde(INT64.name))
    with serving((tmp_path, spec)) as served:
        for path in (f"{STORE}/key?key=a", f"{STORE}/rows"):
            note = served.get(path).json["note"]
            assert note == (
                "shown as bytes: values of serde 'int64'; "
                "start the server with --topology MODULE:NAME"
            )
