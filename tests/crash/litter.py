"""What an app leaves behind: on the machine's disk, in the durable log, in its counters."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kstreams.batch.io.open_feed import feed_of
from tests.crash.faults import version_of
from tests.kstreams.totals import check_totals

if TYPE_CHECKING:
    from tests.crash.harness import Harness

__all__ = ("check_litter",)


def check_litter(harness: Harness) -> None:
    """Make sure that what an app that has ended leaves is needed, and each record was counted."""
    harness.worker.open_versions.close()
    _check_disk(harness.local)
    _check_counts(harness)
    _check_log(harness)


def _check_disk(local: Path) -> None:
    """A version or two and nothing else is left of each task on the machine."""
    assert list(local.rglob("locks/*")) == []
    for attempts in local.rglob("attempts"):
        links = list((attempts.parent / "versions").iterdir())
        named = {link.readlink().name.partition("@")[0] for link in links}
        assert {path.name for path in attempts.iterdir()} <= named
        assert len(named) <= 4  # of three versions, and of one twice after a retry
        assert len(links) <= 8  # an open version's are of the same directory


def _check_counts(harness: Harness) -> None:
    """No record is lost or made at any commit, and the last ones have each of the input's."""
    topology, objects = harness.build(), harness.log.open()
    found: dict[str, int] = {}
    for query in harness.pipelines:
        for commit in harness.checkpoint.commits(query, objects).recent(3):
            assert commit.totals is not None
            check_totals(topology, commit.totals)
            found |= {node: counts.records_in for node, counts in commit.totals.nodes.items()}
    with closing(feed_of(harness.connection, topology.sources)) as feed:
        ends = {s.name: feed.admin.end_offsets(s.topic.name) for s in topology.sources}
    assert all(found.get(name, 0) == sum(e.values()) - harness.gaps for name, e in ends.items())


def _check_log(harness: Harness) -> None:
    """Clean-up leaves what the kept commits are made of, and nothing else."""
    for _ in range(3):
        harness.clock.advance(timedelta(hours=2))
        for pipeline in harness.pipelines.values():
            pipeline.driver.sweep()
    objects = harness.log.open()
    found = {
        name
        for name in objects.list("")
        if not name.startswith(("commits/", "savepoints/")) and "/garbage/" not in name
    }
    for query in harness.pipelines:
        commits = harness.checkpoint.commits(query, objects)
        kept = commits.recent(2)
        newest = {commit.batch for commit in kept}
        assert len(newest) == 2
        stay = {number - 1 for number in harness.pipelines[query].driver.kept}
        assert {*commits.batches()} <= newest | stay
        named = {name for commit in kept for name in commit.objects()}
        last = max(p.version for p in kept[-1].pointers().values())
        scope = f"{harness.checkpoint.scope(query)}/"
        own = {name for name in found if name.startswith(scope)}
        ends = {True: kept[-1].batch, False: last}  # what is in loops has a batch's number
        assert {n for n in own if version_of(n) <= ends["/loops/" in n]} == named
        found -= own
    assert found == set()
