"""A changelog added to a store with contents gets all of them first."""

from __future__ import annotations

from kstreams import INT64, TEXT, key_value_store
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.window.rows import WindowRows
from kstreams.stores import window_store
from kstreams.task.output.changelogs import Changelogs
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.windowed import Windowed

PLAIN = key_value_store("s", key=TEXT, value=INT64)


def batch(
    base: MemoryStore,
    meta: TaskMeta,
    topic: str | None,
    *pairs: tuple[str, int | None],
    topic_id: str = "",
) -> list[bytes]:
    """Commit a batch of puts; return the keys logged in its changelog."""
    spec = PLAIN if topic is None else PLAIN.with_changelog(topic)
    overlay = Overlay(base)
    changelogs = Changelogs([spec], overlay, meta, {"s": 7}, ids={"s": topic_id})
    for key, value in pairs:
        spec.open(overlay).put(key, value)
    changes = overlay.changes()
    tables = changelogs.tables(changes, 0)
    base.write(changes)
    if not tables:
        return []
    assert set(tables["s"].column("topic").to_pylist()) == {topic}
    return list(tables["s"].column("key").to_pylist())


def test_all_rows_are_logged_once_when_changelog_begins() -> None:
    base, meta = MemoryStore(["s"]), TaskMeta()
    assert batch(base, meta, None, ("a", 1), ("b", 1), ("c", 1)) == []
    assert batch(base, meta, "log", ("b", 2), ("c", None)) == [b"a", b"b"]
    assert meta.changelogs == {"s": ("log", 7)}
    meta = TaskMeta.from_json(meta.to_json())
    assert batch(base, meta, "log", ("b", 3)) == [b"b"]


def test_changelog_has_deletion_of_each_key_of_deleted_range() -> None:
    spec = window_store("s", key=TEXT, value=INT64).with_changelog("log")
    base, meta = MemoryStore(["s"]), TaskMeta()
    written = []
    for number in range(3):
        overlay = Overlay(base)
        changelogs = Changelogs([spec], overlay, meta, {"s": 7})
        store = spec.open(overlay)
        if number == 0:
            for start in range(4):
                store.put(Windowed("k", start, start + 1), start)
        else:
            store.put(Windowed("passing", 0, 1), 1)
            WindowRows.of(store).drop_before(2 * number)
            store.put(Windowed("k", 0, 1), number)
        changes = overlay.changes()
        table = changelogs.tables(changes, 0)["s"]
        base.write(changes)
        keys, values = (table.column(name).to_pylist() for name in ("key", "value"))
        written.append([(k[:-8], k[-1], v is None) for k, v in zip(keys, values, strict=True)])
    assert written[1] == [(b"k", 0, False), (b"k", 1, True)]
    assert written[2] == [(b"k", 0, False), (b"k", 2, True), (b"k", 3, True)]


def test_first_rows_of_changelog_leave_out_deleted_range() -> None:
    spec = window_store("s", key=TEXT, value=INT64)
    base, meta = MemoryStore(["s"]), TaskMeta()
    overlay = Overlay(base)
    for start in range(3):
        spec.open(overlay).put(Windowed("k", start, start + 1), start)
    base.write(overlay.changes())
    overlay = Overlay(base)
    changelogs = Changelogs([spec.with_changelog("log")], overlay, meta, {})
    WindowRows.of(spec.open(overlay)).drop_before(2)
    keys = changelogs.tables(overlay.changes(), 0)["s"].column("key").to_pylist()
    assert [key[-1] for key in keys] == [2]


def test_changelog_begins_in_batch_without_changes() -> None:
    base, meta = MemoryStore(["s"]), TaskMeta()
    batch(base, meta, None, ("a", 1))
    assert batch(base, meta, "log") == [b"a"]
    assert batch(base, meta, "log") == []


def test_changelog_begins_again_for_other_topic_and_after_interruption() -> None:
    base, meta = MemoryStore(["s"]), TaskMeta()
    batch(base, meta, "log", ("a", 1))
    assert batch(base, meta, "other", ("b", 1)) == [b"a", b"b"]
    assert batch(base, meta, None, ("c", 1)) == []
    assert meta.changelogs == {}
    assert batch(base, meta, "other") == [b"a", b"b", b"c"]


def test_changelog_is_begun_again_after_uncommitted_attempt() -> None:
    base, before = MemoryStore(["s"]), TaskMeta()
    batch(base, before, None, ("a", 1))
    text = before.to_json()
    assert batch(base, TaskMeta.from_json(text), "log") == [b"a"]
    assert batch(base, TaskMeta.from_json(text), "log") == [b"a"]


def test_recreated_changelog_topic_gets_all_rows_of_store() -> None:
    base, meta = MemoryStore(["s"]), TaskMeta()
    assert batch(base, meta, "log", ("a", 1), topic_id="first") == [b"a"]
    meta = TaskMeta.from_json(meta.to_json())
    assert batch(base, meta, "log", ("b", 1), topic_id="first") == [b"b"]
    assert batch(base, meta, "log", ("c", 1), topic_id="second") == [b"a", b"b", b"c"]
    assert batch(base, meta, "log", ("d", 1), topic_id="second") == [b"d"]
    assert meta.changelogs == {"s": ("log", 7)}


def test_changelog_topic_with_previously_unknown_id_is_continued() -> None:
    base, meta = MemoryStore(["s"]), TaskMeta()
    assert batch(base, meta, "log", ("a", 1)) == [b"a"]
    assert batch(base, meta, "log", ("b", 1), topic_id="first") == [b"b"]
    assert batch(base, meta, "log", ("c", 1)) == [b"c"]
    assert batch(base, meta, "log", ("d", 1), topic_id="second") == [b"a", b"b", b"c", b"d"]
