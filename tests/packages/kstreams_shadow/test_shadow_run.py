"""A shadow compares the results of a changed topology with those of the app's topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, Topology
from kstreams.errors import CheckpointMismatchError, CompileError, NoCheckpointError, SavepointError
from kstreams.streams import Streams
from tests.support.apps.shadowed_app import (
    ShadowedApp,
    by_value,
    counting,
    filtering,
    follow,
    louder,
    tallies,
)

FIRST = [("a", 1), ("b", 0)]


def test_shadow_of_same_topology_finds_only_equal_results(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    app.run([("a", 2), ("c", 0)], [("a", 3)])
    with app.shadow(counting(), "before") as shadow:
        assert follow(shadow) == 2
        shadow.compare_stores()
        (sink,) = shadow.report.sinks
        assert tallies(shadow) == {
            sink: {"equal": 3, "different": 0, "only_old": 0, "only_new": 0},
            "counts": {"equal": 3, "different": 0, "only_old": 0, "only_new": 0},
        }
        assert shadow.report.is_equal
    assert app.results() == ["count a 1", "count a 2", "count a 3", "count b 1", "count c 1"]


def test_shadow_counts_results_that_only_the_old_topology_has(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    app.run([("a", 2), ("c", 0)], [("a", 0), ("a", 3)])
    with app.shadow(filtering(), "before") as shadow:
        follow(shadow)
        shadow.compare_stores()
        (sink,) = shadow.report.sinks
        found = tallies(shadow)
        assert found[sink] == {"equal": 1, "different": 1, "only_old": 1, "only_new": 0}
        assert found["counts"] == {"equal": 1, "different": 1, "only_old": 1, "only_new": 0}
        assert not shadow.report.is_equal


def test_shadow_follows_an_app_that_keeps_running(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    with app.shadow(louder(), "before") as shadow:
        assert follow(shadow) == 0
        app.run([("a", 2)])
        assert follow(shadow) == 1
        app.run([("a", 2)], [("b", 2)])
        assert follow(shadow) == 2
        (compared,) = shadow.report.sinks.values()
        assert compared.tally.different == 3
        (first, *_) = compared.examples
        assert first.difference == ("different", "a", "count a 2", "COUNT a 2")
    with app.shadow(louder()) as shadow:
        app.run([("a", 2)])
        assert follow(shadow) == 1
        (compared,) = shadow.report.sinks.values()
        assert compared.tally.different == 4


def other_topics() -> Topology:
    streams = Streams("app")
    streams.stream(Topic("others", key=TEXT, value=INT64)).group_by_key().count()
    return streams.build()


def test_topology_of_other_topics_is_rejected(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    with pytest.raises(CompileError, match=r"reads \{others\}, but the app reads \{events\}"):
        app.shadow(other_topics())


def test_other_topologies_are_rejected_by_an_existing_shadow(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    with app.shadow(filtering(), "before"):
        pass
    changed = app.shadow(by_value(), reset=frozenset({"counts"}))
    with pytest.raises(CheckpointMismatchError, match="started with other topologies"), changed:
        pass


def test_shadow_without_savepoint_is_rejected(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    with pytest.raises(NoCheckpointError, match="there is no shadow"), app.shadow(louder()):
        pass
    with pytest.raises(SavepointError, match="has no savepoint 'other'"):
        app.shadow(louder(), "other").__enter__()


def test_batches_without_retained_commits_are_compared_with_a_later_batch(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    app.run([("a", 2)], [("a", 0), ("b", 1)], [("a", 3)])
    found = app.checkpoint()
    found.commits("events", found.log.open()).forget_before(3)
    with app.shadow(filtering(), "before") as shadow:
        assert follow(shadow) == 1
        assert shadow.report.skipped == 2
        shadow.compare_stores()
        counts = shadow.report.stores["counts"].tally
        assert (counts.equal, counts.different) == (1, 1)
