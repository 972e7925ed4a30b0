"""Runs a plan: the peers one after another, in a different order in each round."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from benchmarks.suite.cluster import Cluster
from benchmarks.suite.dataset import DATA
from benchmarks.suite.lag import RATE, keeps_up, measure_lag
from benchmarks.suite.measure import RunFailed, measure
from benchmarks.suite.outcome import Lag, Outcome
from benchmarks.suite.peer import Job, Peer, Unavailable
from benchmarks.suite.plan import MOST_BATCH, Pair, Plan, batch_of, ordered
from benchmarks.suite.watcher import Watcher
from benchmarks.suite.workload import Expected

__all__ = ("Rounds",)

LAG_S = 75.0
"""The estimated time of a measurement of the lag."""
_KEPT = 1_000_000


class Rounds:
    """The execution of a plan.

    Args:
        plan: The plan.
        outcome: Receives the figures, and the reasons for missing ones.
        cluster: The running broker.
        cache: The folder of peers and state.
        watcher: Receives the progress.
        save: Called when the outcome has changed.
        clock: Returns seconds; limits the total time.
    """

    def __init__(
        self,
        plan: Plan,
        outcome: Outcome,
        cluster: Cluster,
        *,
        cache: Path,
        watcher: Watcher,
        save: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._outcome = outcome
        self._cluster = cluster
        self._cache = cache
        self._watcher = watcher
        self._save = save
        self._clock = clock
        self._expected: dict[tuple[str, str, str], Expected] = {}
        self._deadline = 0.0

    def run(self) -> None:
        """Install peers, fill topics, run all pairs and check the results."""
        pairs = self._pairs()
        first = self._plan.workloads[:1]
        alone = [workload for workload in first if not workload.besides]
        lags = [pair for pair in pairs if self._plan.lag and pair[0] in alone]
        self._watcher.begin(len(pairs) * self._plan.rounds + len(lags))
        for workload, records in dict.fromkeys((w, self._plan.records_of(w, p)) for w, p in pairs):
            for dataset in workload.datasets:
                step = self._watcher.step(f"fill {dataset.topic(records)}", dataset.rows(records))
                self._cluster.fill(dataset, records, step)
        lags_s = LAG_S * sum(peer.emits_updates for _, peer in lags)
        self._deadline = self._clock() + self._plan.minutes * 60 - lags_s
        self._rounds(pairs)
        self._lags(lags)

    def _pairs(self) -> list[Pair]:
        """Return the pairs that can run; add the reason to the outcome for the others."""
        for workload, peer in self._plan.pairs:  # the order of the report
            self._outcome.cell(workload.label, peer.name)
        able = {peer.name for peer in self._plan.peers if self._installed(peer)}
        pairs = []
        for workload, peer in self._plan.pairs:
            if peer.name not in able:
                continue
            refusal = peer.refusal(workload)
            self._outcome.cell(workload.label, peer.name).reason = refusal or ""
            if refusal is None:
                pairs.append((workload, peer))
                if apart := workload.apart_of(peer.name):
                    self._note(f"{workload.label} {peer.name}: {apart.how}")
        self._save()
        return pairs

    def _installed(self, peer: Peer) -> bool:
        self._watcher.step(f"install {peer.name}", 0)
        try:
            peer.install(self._cache)
        except Unavailable as exc:
            for workload, other in self._plan.pairs:
                if other.name == peer.name:
                    reason = f"not installed: {exc}"
                    self._outcome.cell(workload.label, peer.name).reason = reason
            self._watcher.say(f"{peer.name}: skipped, {exc}")
            return False
        return True

    def _rounds(self, pairs: list[Pair]) -> None:
        lasted = dict.fromkeys(self._plan.workloads, 0.0)
        for number in range(self._plan.rounds):
            for workload, longest in list(lasted.items()):
                begun = self._clock()
                if number and begun + longest > self._deadline:
                    del lasted[workload]
                    self._note(
                        f"{workload.label}: {number} of {self._plan.rounds} rounds were run: "
                        f"another would not have ended within {self._plan.minutes:g} minutes"
                    )
                    continue
                for pair in ordered([each for each in pairs if each[0] == workload], number):
                    self._one(pair, number)
                    self._save()
                self._forget()
                lasted[workload] = max(longest, self._clock() - begun)

    def _one(self, pair: Pair, number: int) -> None:
        workload, peer = pair
        cell = self._outcome.cell(workload.label, peer.name)
        if not cell.reason and self._clock() > self._deadline:
            cell.reason = f"round {number + 1} not run: {self._plan.minutes:g} minutes were over"
        if cell.reason:
            self._watcher.done()
            return
        records = self._plan.records_of(workload, peer)
        job = self._job(pair, workload.topics(records), workload.sizes(records))
        step = self._watcher.step(f"{workload.label} {peer.name}, round {number + 1}", job.records)
        try:
            figures = measure(
                peer,
                job,
                cluster=self._cluster,
                cache=self._cache,
                expected=self._results(pair, records),
                limit_s=self._plan.limit_s,
                done=step,
            )
        except RunFailed as exc:
            cell.reason = f"round {number + 1} failed: {exc}"
            self._watcher.say(f"{workload.label} {peer.name}: {cell.reason}")
            return
        finally:
            self._clean(job)
            self._watcher.done()
        job.log.unlink(missing_ok=True)  # the log of a failed run is kept
        cell.rounds.append(figures)
        self._watcher.say(
            f"{workload.label} {peer.name}: {figures.rate:,.0f} records/s, first result after "
            f"{figures.startup_s:.1f} s, {figures.peak_bytes / 1e6:,.0f} MB"
        )

    def _lags(self, pairs: list[Pair]) -> None:
        for pair in pairs:
            workload, peer = pair
            cell = self._outcome.cell(workload.label, peer.name)
            rate = cell.of("rate")
            if not keeps_up(peer, rate.median if rate else None):
                cell.lag = Lag(reason=f"it does not reach {RATE:,} records/s")
            if cell.reason or cell.lag:
                self._watcher.done()
                continue
            job = self._job(pair, (f"bench-in-{uuid4().hex[:8]}",), (0,))
            self._cluster.create(job.input)
            self._watcher.step(f"{workload.label} {peer.name}, lag", 0)
            try:
                cell.lag = measure_lag(peer, job, cache=self._cache)
            except RunFailed as exc:
                cell.lag = Lag(reason=str(exc))
            finally:
                self._clean(job)
                self._watcher.done()
            if not cell.lag.reason:
                job.log.unlink(missing_ok=True)
            told = cell.lag.reason or f"{cell.lag.p50_ms:,.0f} / {cell.lag.p99_ms:,.0f} ms"
            self._watcher.say(f"{workload.label} {peer.name}: lag {told}")
            self._save()

    def _job(self, pair: Pair, topics: tuple[str, ...], sizes: tuple[int, ...]) -> Job:
        workload, peer = pair
        name = f"{workload.label.lower()}-{peer.name}-{uuid4().hex[:8]}"
        self._cluster.create(f"bench-out-{name}", workload.dataset.partitions)
        return Job(
            workload=workload,
            bootstrap=self._cluster.bootstrap,
            inputs=topics,
            output=f"bench-out-{name}",
            sizes=sizes,
            batch=batch_of(sum(sizes)) if any(sizes) else MOST_BATCH,
            home=self._cache / "runs" / name,
            file=self._plan.files.get(workload.name, ""),
        )

    def _results(self, pair: Pair, records: int) -> Expected:
        workload, peer = pair
        apart = workload.apart_of(peer.name)
        known = workload.label, workload.dataset.topic(records), apart.how if apart else ""
        if known not in self._expected:
            compute = apart.expected if apart else workload.expected
            self._expected[known] = compute(*workload.tables(records))
            gc.freeze()  # many objects without cycles
        return self._expected[known]

    def _forget(self) -> None:
        """Discard expected results that are too large to keep for the next round."""
        kept = {known: each for known, each in self._expected.items() if len(each) <= _KEPT}
        self._expected = kept

    def _clean(self, job: Job) -> None:
        self._cluster.delete_all_but(lambda topic: topic.startswith(DATA))
        shutil.rmtree(job.home, ignore_errors=True)

    def _note(self, text: str) -> None:
        self._outcome.notes.append(text)
        self._watcher.say(text)
