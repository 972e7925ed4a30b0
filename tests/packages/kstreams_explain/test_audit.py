"""Replayed batches are compared with the committed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.errors import CheckpointMismatchError, ReplayError
from kstreams.operators import aggregate, limit
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import WorkingStore
from kstreams.state.log.upkeep import Upkeep
from kstreams.stores import timestamped_store
from tests.packages.kstreams_explain.test_explained import events, lines
from tests.support.apps.replayed_app import Explained
from tests.support.topologies import explained_topologies as made

WORDS = Topic("words", TEXT, TEXT)


def run_words(app: Explained, batches: int = 3) -> None:
    for number in range(batches):
        app.batch(lines("a b", f"c {number} boom", at=10 * number))


def test_audit_of_deterministic_batches_finds_equal_bytes(tmp_path: Path) -> None:
    seen: list[object] = []
    app = Explained(tmp_path, made.words(seen=seen))
    run_words(app)
    peeked = len(seen)
    found = app.audit()
    assert len(found) == 6
    assert {each.task.group for each in found} == {"by-word"}
    assert {(each.how, each.differs, each.not_run) for each in found} == {
        ("delta", "", ""),
        ("nothing", "", ""),
    }
    assert len(seen) == peeked


def test_audit_finds_random_results_and_changed_code(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words(made.Guess))
    run_words(app, 1)
    found = app.audit()
    assert {each.differs for each in found} == {"other rows of 'counts'"}
    assert {each.differs for each in app.audit(made.words())} == {"other rows of 'counts'"}


def test_explanation_reports_a_nondeterministic_processor(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words(made.Guess))
    run_words(app, 1)
    (change,) = app.explain(made.COUNTS, "a").explained
    assert not change.is_equal
    assert change.end != change.change.after
    assert app.explain(made.COUNTS, "a").to_json()["explained"][0]["equal"] is False  # type: ignore[index]


@dataclass(frozen=True)
class NeverCopies:
    """A backend whose upkeep is part of each commit: a pointer need not name its own delta."""

    memory: Memory
    name: str = "never-copies"

    @property
    def directory(self) -> str | None:
        """Return the directory of the in-memory backend."""
        return self.memory.directory

    @property
    def log(self) -> ObjectStoreSettings | None:
        """Return the log of the in-memory backend."""
        return self.memory.log

    def open(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        """Open a store of the in-memory backend."""
        return self.memory.open(directory, stores)

    def branch(self, source: Path, target: Path) -> bool:
        """Branch a store of the in-memory backend."""
        return self.memory.branch(source, target)

    def remove(self, directory: Path) -> None:
        """Remove a store of the in-memory backend."""
        self.memory.remove(directory)


def test_audit_compares_whole_state_if_deltas_were_merged(tmp_path: Path) -> None:
    state = NeverCopies(Memory(directory=str(tmp_path / "local")))
    app = Explained(tmp_path, made.words(), state=state, upkeep=Upkeep(merge_count=2))
    run_words(app, 4)
    found = app.audit()
    assert {(each.differs, each.not_run) for each in found} == {("", "")}
    assert {"delta", "state"} <= {each.how for each in found}


def test_audit_repeats_external_calls_only_if_allowed(tmp_path: Path) -> None:
    calls: list[object] = []
    app = Explained(tmp_path, made.asking(calls))
    app.batch(events(("a", 1), ("b", 2)))
    assert calls == ["a", "b"] or sorted(map(str, calls)) == ["a", "b"]
    with pytest.raises(ReplayError, match="node 'ask' calls an external service"):
        app.audit()
    assert len(calls) == 2
    assert "delta" in {each.how for each in app.audit(repeat_calls=True)}
    assert len(calls) == 4


def test_replay_with_another_topology_is_refused(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.words())
    run_words(app, 1)
    with pytest.raises(CheckpointMismatchError, match="is not the last topology that app 'words'"):
        app.audit(made.tumbling())


def test_batch_that_fails_in_the_replay_is_reported(tmp_path: Path) -> None:
    app = Explained(tmp_path, made.doubled())
    app.batch(events(("a", 1)))

    class Broken(made.Count):
        def process(self, record: object) -> None:
            raise ValueError("no more")

    before, made.Count.process = made.Count.process, Broken.process  # type: ignore[method-assign, assignment]
    try:
        (found,) = [each for each in app.audit() if each.differs]
    finally:
        made.Count.process = before  # type: ignore[method-assign]
    assert "it fails now" in found.differs
    assert "no more" in found.differs


def test_batches_at_a_limit_are_replayed_with_the_shares_of_their_plans(
    tmp_path: Path,
) -> None:
    """Stores above and below limits get the same bytes, also if nodes run by records."""
    first = timestamped_store("first", key=TEXT, value=INT64)
    second = timestamped_store("second", key=TEXT, value=INT64)
    builder = TopologyBuilder("limits")
    node = builder.add_source("words", WORDS)
    counted = builder.add_processor("counted", aggregate(count(), store=first), node)
    some = builder.add_processor("some", limit(7), counted)
    edge = builder.repartition("edge", some, key=TEXT, value=INT64)
    few = builder.add_processor("few", limit(5), edge)
    builder.add_processor("latest", aggregate(count(), store=second), few)
    app = Explained(tmp_path, builder.build())
    for number in range(3):
        app.batch((WORDS, f"k{n}", "x", number) for n in range(4 + number))
    found = app.audit()
    assert {each.task.group for each in found} == {"words", "edge"}
    assert {(each.differs, each.not_run) for each in found} == {("", "")}
    explained = app.explain(first, "k0")
    assert all(change.is_equal for change in explained.explained)
