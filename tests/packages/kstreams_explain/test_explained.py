"""The value of a key is explained by the records that produce it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kstreams import Topology
from kstreams.errors import ReplayError
from kstreams.state.stores.spec import StoreSpec
from kstreams_explain.explained import Explanation
from tests.support.apps.replayed_app import Batch, Explained
from tests.support.topologies import explained_topologies as made


def lines(*texts: str, at: int = 0) -> Batch:
    return [(made.LINES, f"k{n}", text, at + n) for n, text in enumerate(texts)]


def events(*records: tuple[str, int]) -> Batch:
    return [(made.EVENTS, key, 1, time) for key, time in records]


def left(key: str, value: int | None, time: int) -> tuple[Any, Any, Any, int]:
    return made.LEFT, key, value, time


def right(key: str, value: int | None, time: int) -> tuple[Any, Any, Any, int]:
    return made.RIGHT, key, value, time


def values(rows: Any) -> list[Any]:
    return [row[-1] for row in rows]


def check_chain(found: Explanation) -> None:
    """Assert that each step follows the one before, from the commit's start to its end."""
    for each in found.explained:
        assert (each.is_equal, each.not_run) == (True, "")
        now = each.change.before
        for step in (found.step for found in each.steps):
            assert step.before == now
            now = step.after
        assert now == each.change.after


CASES: list[Any] = [
    pytest.param(
        made.words,
        made.COUNTS,
        "a",
        [lines("a b a", "b c"), lines("c b"), lines("a", "b a b", at=9)],
        [4],
        id="word count",
    ),
    pytest.param(
        made.tumbling,
        made.WINDOWS,
        "a",
        [events(("a", 1), ("b", 2), ("a", 120)), events(("b", 130), ("a", 40), ("a", 121))],
        [2, 2],
        id="tumbling window",
    ),
    pytest.param(
        made.sessions,
        made.SESSIONS,
        "a",
        [events(("a", 0), ("b", 1), ("a", 80)), events(("a", 40), ("a", 200), ("b", 41))],
        [3, 1],
        id="sessions that merge",
    ),
]


@pytest.mark.parametrize(("topology", "store", "key", "batches", "expected"), CASES)
def test_test_driver_computes_explained_value_from_records_of_the_explanation(
    tmp_path: Path,
    topology: Any,
    store: StoreSpec[Any],
    key: str,
    batches: list[Batch],
    expected: list[int],
) -> None:
    app = Explained(tmp_path, topology())
    for batch in batches:
        app.batch(batch)
    found = app.explain(store, key, every=True)
    check_chain(found)
    assert app.by_hand(found) == list(found.history.last)
    assert values(found.history.last) == expected


def test_explanation_shows_window_closed_at_end_of_batch_as_step_without_record(
    tmp_path: Path,
) -> None:
    app = Explained(tmp_path, made.tumbling())
    app.batch(events(("a", 1)))
    app.batch(events(("a", 250), ("a", 900)))
    found = app.explain(made.WINDOWS, "a")
    check_chain(found)
    (change,) = found.explained
    last = change.steps[-1]
    assert (last.origin, last.step.record) == (None, None)
    assert (200, 1) in last.step.before
    assert last.step.after == ((900, 1),)


def test_explanation_of_join_has_records_of_both_tables(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.joined())
    app.batch([left("a", 1, 0), right("b", 7, 1), left("b", 3, 2)])
    app.batch([right("a", 5, 3), left("a", 2, 4)])
    found = app.explain(made.JOINED, "a", every=True)
    check_chain(found)
    (change,) = found.explained
    assert [each.step.after for each in change.steps] == [((105, 3),), ((205, 4),)]
    assert [each.origin and each.origin.topic for each in change.steps] == ["right", "left"]
    parts = [app.explain(store, "a", every=True) for store in (made.LEFTS, made.RIGHTS)]
    steps = tuple(each for part in (found, *parts) for each in part.explained)
    whole = Explanation(found.app, found.rows, found.history, steps)
    assert app.by_hand(whole) == list(found.history.last)


def test_explanation_follows_records_through_a_repartition_and_names_drops(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("a b"))
    app.batch(lines("b", "odd boom odd", "boom"))
    for key, after in (("odd", 2), ("boom", 0)):
        found = app.explain(made.COUNTS, key)
        dropped = [each.step.dropped for each in found.explained[0].steps] if after else []
        assert values(found.history.last) == ([after] if after else [])
        assert dropped == (["odd-word", "", "odd-word", ""] if after else [])
    (change,) = app.explain(made.COUNTS, "b").explained
    (step,) = change.steps
    assert step.origin is not None
    partition = app.hand.connection.reader()
    (row,) = partition.read(
        "lines", step.origin.partition, step.origin.offset, step.origin.offset + 1
    )
    assert (row.value, step.origin.timestamp_ms) == (b"b", 0)
    assert step.origin.via[0].startswith(f"by-word/{step.origin.partition}#")


def test_explanation_shows_late_records_as_dropped(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.tumbling())
    app.batch(events(("a", 1)))
    app.batch(events(("a", 1000), ("a", 2)))
    (change,) = app.explain(made.WINDOWS, "a").explained
    late = change.steps[-1]
    assert [each.step.dropped for each in change.steps if each.step.dropped] == ["late"]
    assert late.step.dropped == "late"
    assert late.origin is not None
    assert late.origin.timestamp_ms == 2
    assert late.step.before == late.step.after


def test_any_retained_batch_can_be_explained_and_others_are_refused(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    for text in ("a", "b", "a a"):
        app.batch(lines(text))
    assert [c.change.batch for c in app.explain(made.COUNTS, "a", every=True).explained] == [2, 0]
    assert app.explain(made.COUNTS, "a", batch=0).explained[0].change.after == ((1,),)
    with pytest.raises(ReplayError, match="retained batches that have changed the key: 2, 0"):
        app.explain(made.COUNTS, "a", batch=1)
    absent = app.explain(made.COUNTS, "zebra")
    assert (absent.history.last, absent.history.changes, absent.explained) == ((), (), ())


def test_explanation_without_older_plans_and_commits_shows_retained_batches(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    for text in ("a", "a b", "a"):
        app.batch(lines(text))
    (query,) = app.hand.queries.values()
    opened = app.replayed().checkpoint
    commits = opened.commits("lines", app.hand.settings.checkpoint.log.open())
    commits.forget_before(1)
    found = app.explain(made.COUNTS, "a", every=True)
    assert found.history.first == ((2,),)
    (change,) = found.explained
    assert change.not_run == ""
    query.driver.plans.forget_before(2)
    commits.forget_before(2)
    found = app.explain(made.COUNTS, "a")
    assert (found.history.first, found.history.changes) == (((3,),), ())


def test_explanation_after_loss_of_source_records_has_history_and_offsets(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("a"))
    app.batch(lines("a"))
    for segment in (tmp_path / "topics").rglob("*.rows"):
        if segment.parent.parent.name == "lines" or "lines" in str(segment):
            segment.unlink()
    (change,) = app.explain(made.COUNTS, "a").explained
    assert change.not_run
    assert [(read.topic, read.from_offset, read.to_offset) for read in change.ranges] == [
        ("lines", 1, 2)
    ]
    assert change.change.after == ((2,),)


def test_explanation_as_json_has_documented_fields(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    app.batch(lines("a a a"))
    found: Any = app.explain(made.COUNTS, "a").to_json(skip=1, limit=1)
    (change,) = found["explained"]
    assert found["value"] == [{"value": 3}]
    assert found["retained"] == [0, 0]
    assert (change["equal"], change["steps_total"], len(change["steps"])) == (True, 3, 1)
    (step,) = change["steps"]
    assert (step["before"], step["after"]) == ([{"value": 1}], [{"value": 2}])
    assert (step["node"], step["key"], step["value"], step["dropped"]) == ("count", "a", None, "")
    assert step["record"]["via"] == [f"by-word/{step['record']['partition']}#1"]


@pytest.mark.parametrize("topology", [made.words, made.tumbling], ids=["words", "windows"])
def test_explanation_does_not_change_the_app(tmp_path: Path, topology: Any) -> None:
    app = Explained(tmp_path, topology())
    app.batch(lines("a b") if topology is made.words else events(("a", 1)))
    before = contents(tmp_path)
    made_topology: Topology = app.topology
    app.explain(made_topology.stores[0], "a")
    app.audit()
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
