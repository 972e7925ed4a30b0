"""One run: a peer processes a workload, its results are checked, and its time is computed."""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.suite.check import check
from benchmarks.suite.cluster import Cluster, Output
from benchmarks.suite.figures import Figures, end_of, span_of
from benchmarks.suite.formats import decoder, keys_tell
from benchmarks.suite.peer import Job, Peer
from benchmarks.suite.process import PeerProcess
from benchmarks.suite.process_tree import Sampler, cpu_between
from benchmarks.suite.workload import Expected

__all__ = ("RunFailed", "measure")

_EVERY_S = 0.05
_QUIET_S = 4.0
_DONE_QUIET_S = 2.0
"""Seconds without a result before results are read, for peers that report completion."""
_WEIGHED_EVERY_S = 2.0
_SHOWN_POINTS = 200


class RunFailed(Exception):
    """A run without figures; the message contains the reason."""


def measure(
    peer: Peer,
    job: Job,
    *,
    cluster: Cluster,
    cache: Path,
    expected: Expected,
    limit_s: float,
    done: Callable[[int], None],
) -> Figures:
    """Run a peer until all results have arrived, and return the figures.

    Args:
        peer: The installed peer to run.
        job: The job.
        cluster: The broker; the job's input topics are filled, its output topic is empty.
        cache: The folder of the peer's installation.
        expected: The expected results.
        limit_s: The time limit in seconds.
        done: Called regularly with the number of processed records.

    Raises:
        RunFailed: The peer ended by itself or took too long, or its results are wrong.
    """
    shutil.rmtree(job.home, ignore_errors=True)
    before = set(cluster.topics())
    broker = Sampler(cluster.pid, alone=True)
    process = PeerProcess(peer.command(job, cache), job)
    try:
        counts, state = _watched(peer, job, process, cluster, expected, limit_s, done)
    finally:
        process.stop()
        broker.stop()
    return _figures(peer, job, process, broker, counts, state, cluster, before)


def _watched(
    peer: Peer,
    job: Job,
    process: PeerProcess,
    cluster: Cluster,
    expected: Expected,
    limit_s: float,
    done: Callable[[int], None],
) -> tuple[list[tuple[float, int]], int]:
    """Wait for all results; return their number over time, and the peak bytes of state."""
    decode = decoder(peer.format, job.workload)
    output = Output(
        job.bootstrap,
        job.output,
        decode,
        job.workload.dataset.partitions,
        keys_tell=keys_tell(peer.format, job.workload),
    )
    settle = job.workload.settle or dict
    counts: list[tuple[float, int]] = [(process.launched, 0)]
    looked, problems = 0, "no result arrived"
    weighed, state = process.launched, 0
    try:
        while True:
            time.sleep(_EVERY_S)
            ended = process.ended is not None  # checked first, so its earlier output is counted
            now, count = time.monotonic(), cluster.ends(job.output)
            if count > counts[-1][1]:
                counts.append((now, count))
            done(process.progress[-1][1] if process.progress else 0)
            if now - weighed > _WEIGHED_EVERY_S:
                weighed, state = now, max(state, _bytes_in(job.home))
            is_done = bool(process.progress) and process.progress[-1][1] >= job.records
            quiet = now - counts[-1][0] > (_DONE_QUIET_S if is_done else _QUIET_S)
            if job.workload.by_clock and process.progress:
                quiet = quiet and is_done  # there is also no output between two windows
            if (quiet or ended) and count and count != looked:
                looked = count
                output.read()
                verdict = check(
                    expected, settle(output.results), timestamps=peer.timestamps == "event"
                )
                if verdict.right:
                    return counts, max(state, _bytes_in(job.home))
                problems = "; ".join(verdict.problems)
            if ended:
                raise RunFailed(
                    f"it ended with {process.ended}: {problems}; {process.last_words()}; "
                    f"its log is {job.log}"
                )
            if now - process.launched > limit_s:
                raise RunFailed(f"not done within {limit_s:.0f} s: {problems}")
    finally:
        output.close()


def _figures(
    peer: Peer,
    job: Job,
    process: PeerProcess,
    broker: Sampler,
    counts: list[tuple[float, int]],
    state: int,
    cluster: Cluster,
    before: set[str],
) -> Figures:
    total = job.records
    end, results = counts[-1]
    points = [(when, round(count * total / results)) for when, count in counts[1:]]
    if peer.reports_progress or process.progress:
        points = process.progress
        end = end_of(points, total, end, by_clock=job.workload.by_clock)
    try:
        span = span_of(points, total, end)
    except ValueError as exc:
        raise RunFailed(str(exc)) from exc
    own = {*cluster.topics()} - before
    return Figures(
        records=total - job.workload.closers,
        rate=span.rate,
        startup_s=counts[1][0] - process.launched,
        cpu_s_per_million=_per_million(process.sampler, span.start, span.end, span.records),
        broker_cpu_s_per_million=_per_million(broker, span.start, span.end, span.records),
        peak_bytes=process.sampler.peak_pss,
        state_bytes=state + cluster.size_of(lambda topic: topic in own),
        results=results,
        progress=_thinned([(when - process.launched, number) for when, number in points]),
    )


def _thinned(points: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return at most as many of the points, evenly chosen, as a plot needs."""
    return points[:: len(points) // _SHOWN_POINTS + 1]


def _per_million(sampler: Sampler, start: float, end: float, records: int) -> float:
    return cpu_between(sampler.samples, start, end) / records * 1e6


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a folder; a file with several names counts once."""
    sizes: dict[int, int] = {}
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except OSError:
            continue  # the file was just deleted
        if stat.S_ISREG(found.st_mode):
            sizes[found.st_ino] = found.st_size
    return sum(sizes.values())
