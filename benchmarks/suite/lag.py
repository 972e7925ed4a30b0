"""Lag: the time from the write of a record until its result can be read.

Clicks are written at a fixed rate with the usual distribution of keys. Every 50 ms, a probe is
added: the only record of a new key. The first result with this key ends the lag.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.suite.clicks import KEYS
from benchmarks.suite.dataset import PARTITIONS
from benchmarks.suite.measure import RunFailed
from benchmarks.suite.outcome import Lag
from benchmarks.suite.peer import Job, Peer
from benchmarks.suite.process import PeerProcess
from benchmarks.suite.zipf import zipf
from devtools.servers.silent_logger import SILENT

__all__ = ("RATE", "keeps_up", "measure_lag")

RATE = 20_000
_STEP_S = 0.01
_PROBE_EVERY = 5
_PROBE = b"~probe-"
_WARM_S = 15.0
_MEASURED_S = 30.0
_PATIENCE_S = 45.0
_START_S = 90.0


def keeps_up(peer: Peer, throughput: float | None) -> bool:
    """Return whether to measure the lag of a peer.

    Returns False for a peer with a `most_records` whose throughput is below the input rate: its lag
    grows without bound.
    """
    return peer.most_records is None or throughput is None or throughput >= RATE


def measure_lag(peer: Peer, job: Job, *, cache: Path, rate: int = RATE) -> Lag:
    """Run a peer on a steady stream, and return its lag.

    Args:
        peer: The installed peer to run.
        job: The job; its input and output topics exist and are empty.
        cache: The folder of the peer's installation.
        rate: The number of records per second.

    Raises:
        RunFailed: The peer ended by itself, or cannot keep up.
    """
    if not peer.emits_updates:
        return Lag(reason="results only when windows close")
    shutil.rmtree(job.home, ignore_errors=True)
    process = PeerProcess(peer.command(job, cache), job)
    stream = _Stream(job, rate)
    probes = _Probes(job)
    try:
        _wait(process, lambda: bool(probes.seen), _START_S, "no result arrived")
        begin = time.time() + _WARM_S
        time.sleep(_WARM_S + _MEASURED_S)
        end = time.time()
        stream.stop()
        wanted = {n for n, when in stream.probes.items() if begin <= when < end}
        keeps = f"cannot keep up at {rate:,} records/s"
        _wait(process, lambda: wanted <= probes.seen.keys(), _PATIENCE_S, keeps)
    finally:
        stream.stop()
        probes.stop()
        process.stop()
    lags = [1000 * (probes.seen[n] - stream.probes[n]) for n in wanted]
    p50, p99, p999 = (round(float(each), 1) for each in np.percentile(lags, [50, 99, 99.9]))
    return Lag(p50, p99, p999_ms=p999)


def _wait(process: PeerProcess, met: Callable[[], bool], limit_s: float, problem: str) -> None:
    deadline = time.monotonic() + limit_s
    while not met():
        if process.ended is not None:
            raise RunFailed(f"it ended with {process.ended}: {process.last_words()}")
        if time.monotonic() > deadline:
            raise RunFailed(problem)
        time.sleep(0.1)


class _Stream:
    """Writes clicks at a fixed rate, with the time of the write, until stopped.

    Attributes:
        probes: The time of the write of each probe, by its number.
    """

    def __init__(self, job: Job, rate: int) -> None:
        self.probes: dict[int, float] = {}
        self._rate = rate
        self._topic = job.input
        self._producer = Producer(
            {
                "bootstrap.servers": job.bootstrap,
                "linger.ms": 5,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 500_000,
            },
            logger=SILENT,
        )
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        keys = [b"user-%d" % n for n in zipf(np.random.default_rng(7), 1_000_000, KEYS)]
        sent, steps, begin = 0, 0, time.monotonic()
        while not self._done.is_set():
            due = int((time.monotonic() - begin) * self._rate)
            for number in range(sent, due):
                self._click(keys[number % len(keys)])
            sent = max(sent, due)
            if steps % _PROBE_EVERY == 0:
                number = steps // _PROBE_EVERY
                self.probes[number] = time.time()
                self._click(_PROBE + b"%d" % number)
            self._producer.poll(0)
            steps += 1
            self._done.wait(max(0.0, begin + steps * _STEP_S - time.monotonic()))
        self._producer.flush(30)

    def _click(self, key: bytes) -> None:
        now = int(time.time() * 1000)
        value = b'{"user":"%s","amount":1,"page":"/page/1","agent":"web","at":%d}' % (key, now)
        self._producer.produce(self._topic, value, key, timestamp=now)


class _Probes:
    """Reads the output topic and records the arrival of the first result of each probe."""

    def __init__(self, job: Job) -> None:
        self.seen: dict[int, float] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": job.bootstrap,
                "group.id": f"probes-{job.output}",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
            },
            logger=SILENT,
        )
        self._consumer.assign([TopicPartition(job.output, n, 0) for n in range(PARTITIONS)])
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._done.is_set():
            messages = self._consumer.consume(2000, 0.02)
            now = time.time()
            for message in messages:
                key = message.key() or b""
                if key.startswith(_PROBE):
                    digits = key[len(_PROBE) :]
                    self.seen.setdefault(_number(digits), now)


def _number(digits: bytes) -> int:
    """Return the number at the beginning of a key; a window may follow it."""
    end = 0
    while end < len(digits) and 48 <= digits[end] < 58:
        end += 1
    return int(digits[:end])
