"""Runs everything: peers after one another, in another order each round."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from benchmarks.suite.cluster import Cluster
from benchmarks.suite.dataset import DATA
from benchmarks.suite.lag import measure_lag
from benchmarks.suite.measure import RunFailed, measure
from benchmarks.suite.outcome import Lag, Outcome
from benchmarks.suite.peer import Job, Peer, Unavailable
from benchmarks.suite.plan import MOST_BATCH, Plan, batch_of, ordered
from benchmarks.suite.watcher import Watcher
from benchmarks.suite.workload import Expected, Workload

__all__ = ("Rounds",)

Pair = tuple[Workload, Peer]
LAG_S = 75.0
"""What measuring a lag takes."""


class Rounds:
    """A plan being carried out.

    Args:
        plan: What to run.
        outcome: Takes the figures, and the reasons where there are none.
        cache: Where peers, topics and state lie.
        watcher: Is told how it gets on.
        save: Called when the outcome has changed.
    """

    def __init__(
        self,
        plan: Plan,
        outcome: Outcome,
        cache: Path,
        watcher: Watcher,
        save: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._outcome = outcome
        self._cache = cache
        self._watcher = watcher
        self._save = save
        self._expected: dict[tuple[str, str], Expected] = {}
        self._deadline = 0.0

    def run(self) -> None:
        """Install, fill, run and check all."""
        pairs = self._pairs()
        lags = sum(pair[0] is self._plan.workloads[0] for pair in pairs) if self._plan.lag else 0
        self._watcher.begin(len(pairs) * self._plan.rounds + lags)
        with Cluster(self._cache) as cluster:
            for workload, records in dict.fromkeys(
                (w, self._plan.records_of(w, p)) for w, p in pairs
            ):
                step = self._watcher.step(f"fill {workload.dataset.topic(records)}", records)
                cluster.fill(workload.dataset, records, step)
            self._deadline = time.monotonic() + self._plan.minutes * 60 - lags * LAG_S
            self._rounds(pairs, cluster)
            if self._plan.lag:
                self._lags(pairs, cluster)

    def _pairs(self) -> list[Pair]:
        """Return what can be run; note why the rest cannot."""
        able = [peer for peer in self._plan.peers if self._installed(peer)]
        pairs = []
        for workload in self._plan.workloads:
            for peer in able:
                refusal = peer.refusal(workload)
                self._outcome.cell(workload.label, peer.name).reason = refusal or ""
                if refusal is None:
                    pairs.append((workload, peer))
        self._save()
        return pairs

    def _installed(self, peer: Peer) -> bool:
        self._watcher.step(f"install {peer.name}", 0)
        try:
            peer.install(self._cache)
        except Unavailable as exc:
            for workload in self._plan.workloads:
                self._outcome.cell(workload.label, peer.name).reason = f"not installed: {exc}"
            self._watcher.say(f"{peer.name}: skipped, {exc}")
            return False
        return True

    def _rounds(self, pairs: list[Pair], cluster: Cluster) -> None:
        longest = 0.0
        for number in range(self._plan.rounds):
            begun = time.monotonic()
            if number and begun + longest > self._deadline:
                self._note(
                    f"{number} of {self._plan.rounds} rounds were run: another would not have "
                    f"ended within {self._plan.minutes:g} minutes"
                )
                return
            for workload in self._plan.workloads:
                for pair in ordered([each for each in pairs if each[0] is workload], number):
                    self._one(pair, number, cluster)
                    self._save()
            self._expected.clear()
            longest = max(longest, time.monotonic() - begun)

    def _one(self, pair: Pair, number: int, cluster: Cluster) -> None:
        workload, peer = pair
        cell = self._outcome.cell(workload.label, peer.name)
        if not cell.reason and time.monotonic() > self._deadline:
            cell.reason = f"round {number + 1} not run: {self._plan.minutes:g} minutes were over"
        if cell.reason:
            self._watcher.done()
            return
        records = self._plan.records_of(workload, peer)
        job = self._job(pair, cluster, workload.dataset.topic(records), records)
        step = self._watcher.step(f"{workload.label} {peer.name}, round {number + 1}", records)
        try:
            figures = measure(
                peer,
                job,
                cluster=cluster,
                cache=self._cache,
                expected=self._results(workload, records),
                limit_s=self._plan.limit_s,
                done=step,
            )
        except RunFailed as exc:
            cell.reason = f"round {number + 1} failed: {exc}"
            self._watcher.say(f"{workload.label} {peer.name}: {cell.reason}")
            return
        finally:
            self._clean(job, cluster)
            self._watcher.done()
        job.log.unlink(missing_ok=True)  # that of a failed run stays
        cell.rounds.append(figures)
        self._watcher.say(
            f"{workload.label} {peer.name}: {figures.rate:,.0f} records/s, first result after "
            f"{figures.startup_s:.1f} s, {figures.peak_bytes / 1e6:,.0f} MB"
        )

    def _lags(self, pairs: list[Pair], cluster: Cluster) -> None:
        for pair in pairs:
            workload, peer = pair
            cell = self._outcome.cell(workload.label, peer.name)
            if workload is not self._plan.workloads[0] or cell.reason:
                continue
            job = self._job(pair, cluster, f"bench-in-{uuid4().hex[:8]}", 0)
            cluster.create(job.input)
            self._watcher.step(f"{workload.label} {peer.name}, lag", 0)
            try:
                cell.lag = measure_lag(peer, job, cache=self._cache)
            except RunFailed as exc:
                cell.lag = Lag(reason=str(exc))
            finally:
                self._clean(job, cluster)
                self._watcher.done()
            if not cell.lag.reason:
                job.log.unlink(missing_ok=True)
            told = cell.lag.reason or f"{cell.lag.p50_ms:,.0f} / {cell.lag.p99_ms:,.0f} ms"
            self._watcher.say(f"{workload.label} {peer.name}: lag {told}")
            self._save()

    def _job(self, pair: Pair, cluster: Cluster, topic: str, records: int) -> Job:
        workload, peer = pair
        name = f"{workload.label.lower()}-{peer.name}-{uuid4().hex[:8]}"
        cluster.create(f"bench-out-{name}")
        return Job(
            workload=workload,
            bootstrap=cluster.bootstrap,
            input=topic,
            output=f"bench-out-{name}",
            records=records,
            batch=batch_of(records) if records else MOST_BATCH,
            home=self._cache / "runs" / name,
            file=self._plan.files.get(workload.name, ""),
        )

    def _results(self, workload: Workload, records: int) -> Expected:
        topic = workload.label, workload.dataset.topic(records)
        if topic not in self._expected:
            self._expected[topic] = workload.expected(workload.dataset.records(records))
        return self._expected[topic]

    def _clean(self, job: Job, cluster: Cluster) -> None:
        cluster.delete_all_but(lambda topic: topic.startswith(DATA))
        shutil.rmtree(job.home, ignore_errors=True)

    def _note(self, text: str) -> None:
        self._outcome.notes.append(text)
        self._watcher.say(text)
