"""Checks for leftover files and objects of an app, and of its counters."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kstreams.batch.io.open_feed import feed_of
from tests.support.apps.record_totals import check_totals
from tests.support.crash.faults import version_of

if TYPE_CHECKING:
    from tests.support.crash.harness import Harness

__all__ = ("check_litter",)


def check_litter(harness: Harness) -> None:
    """Check that all files of an ended app are needed, and that each record was counted."""
    harness.worker.open_versions.close()
    _check_disk(harness.local)
    _check_counts(harness)
    _check_log(harness)


def _check_disk(local: Path) -> None:
    """Check that each task has one or two versions on the machine, and nothing else."""
    assert list(local.rglob("locks/*")) == []
    for attempts in local.rglob("attempts"):
        links = list((attempts.parent / "versions").iterdir())
        named = {link.readlink().name.partition("@")[0] for link in links}
        assert {path.name for path in attempts.iterdir()} <= named
        assert len(named) <= 4  # of three versions, and of one twice after a retry
        assert len(links) <= 8  # an open version's links are in the same directory


def _check_counts(harness: Harness) -> None:
    """Check that each commit balances its counts, and that the last ones count the whole input."""
    topology, objects = harness.build(), harness.log.open()
    found: dict[str, int] = {}
    for query in harness.queries:
        for commit in harness.checkpoint.commits(query, objects).recent(3):
            assert commit.totals is not None
            check_totals(topology, commit.totals)
            found |= {node: counts.records_in for node, counts in commit.totals.nodes.items()}
    with closing(feed_of(harness.connection, topology.sources)) as feed:
        ends = {s.name: feed.admin.end_offsets(s.topic.name) for s in topology.sources}
    assert all(found.get(name, 0) == sum(e.values()) - harness.gaps for name, e in ends.items())


def _check_log(harness: Harness) -> None:
    """Check that clean-up keeps exactly the objects of the kept commits."""
    for _ in range(3):
        harness.clock.advance(timedelta(hours=2))
        for loop in harness.queries.values():
            loop.driver.sweep()
    objects = harness.log.open()
    found = {
        name
        for name in objects.list("")
        if not name.startswith(("commits/", "savepoints/")) and "/garbage/" not in name
    }
    for query in harness.queries:
        commits = harness.checkpoint.commits(query, objects)
        kept = commits.recent(2)
        newest = {commit.batch for commit in kept}
        assert len(newest) == 2
        stay = {number - 1 for number in harness.queries[query].driver.kept}
        assert {*commits.batches()} <= newest | stay
        named = {name for commit in kept for name in commit.objects()}
        last = max(p.version for p in kept[-1].pointers().values())
        state_name = f"{harness.checkpoint.state_name(query)}/"
        own = {name for name in found if name.startswith(state_name)}
        batch = kept[-1].batch
        past = {n for n in own if version_of(n) <= (batch if _is_of_batch(n) else last)}
        assert past == named
        found -= own
    assert found == set()


def _is_of_batch(name: str) -> bool:
    """Return whether the number in an object's name is that of a batch, not of a version."""
    return "/loops/" in name or "/packs/" in name
