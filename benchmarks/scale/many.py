"""A topology of many partitions on a Spark cluster: start, batches, restore, the driver.

The cluster is a master, two workers of a core each and a driver, on machines that share no
file; the app's checkpoint is on a real S3 server. Everything runs on this one machine, though:
what it says of processor time and memory holds elsewhere, its times are those of these cores.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer

from benchmarks.scale import many_app
from benchmarks.suite.cluster import Cluster
from benchmarks.suite.process_tree import Sampler, cpu_between
from devtools.processes import command, session
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket, S3Server
from devtools.servers.silent_logger import SILENT
from devtools.servers.spark_cluster import SparkCluster
from devtools.wheel import installed_wheels

__all__ = ("BATCHES", "ManyPartitions", "measure_many")

PARTITIONS = 1_000
CORES = 2
_PROGRAM = "many_app.py"
_RECORDS = 20
"""Of each partition in a batch."""
_MEASURED = 5
_WARM = 1
BATCHES = _WARM + _MEASURED
_POLL_S = 0.2
_LIMIT_S = 900.0


@dataclass(frozen=True)
class ManyPartitions:
    """What was measured.

    Attributes:
        partitions: Of the source; each has as many tasks.
        records: Of a batch, the same number of each partition.
        first_s: From Spark's session to the first commit, of an app that begins.
        batch_s: From commit to commit, the middle one.
        cpu_s: Processor seconds of a batch, of all processes but broker and storage.
        puts: Objects written a batch to the durable log.
        restore_s: From Spark's session to the first commit of a new driver, on workers that have
            nothing: all tasks get their state.
        python_bytes: The most memory of the driver's Python.
        jvm_bytes: The same of its JVM.
        empty_s: What a job of Spark's takes with as many Python tasks that do nothing.
    """

    partitions: int
    records: int
    first_s: float
    batch_s: float
    cpu_s: float
    puts: float
    restore_s: float
    python_bytes: int
    jvm_bytes: int
    empty_s: float


def measure_many(
    cluster: Cluster, partitions: int = PARTITIONS, *, done: Callable[[int], None]
) -> ManyPartitions:
    """Run it.

    Args:
        cluster: The broker.
        partitions: Of the source.
        done: Told now and then how many batches are done.

    Raises:
        RuntimeError: Something of it does not come.
    """
    name = f"many-{uuid4().hex[:8]}"
    source, sink = f"bench-in-{name}", f"bench-out-{name}"
    cluster.create(source, partitions)
    cluster.create(sink, 8)
    home = Path(tempfile.mkdtemp(prefix="kstreams-many-"))
    try:
        with (
            S3Server(home / "s3") as storage,
            SparkCluster(home / "cluster", installed_wheels(_folder(home / "wheel"))) as spark,
        ):
            Bucket(storage.url, "many")
            s3 = {
                "url": f"s3://many/{name}",
                "endpoint_url": storage.url,
                "region": "us-east-1",
                "access_key": ACCESS_KEY,
                "secret_key": SECRET_KEY,
            }
            options = {
                "source": source,
                "sink": sink,
                "bootstrap": cluster.bootstrap,
                "batch": partitions * _RECORDS,
                "parallelism": CORES,
                "s3": s3,
            }
            run = _Run(spark, options, cluster.bootstrap, partitions)
            return run.measure(done)
    finally:
        cluster.delete_all_but(lambda topic: topic not in (source, sink))
        shutil.rmtree(home, ignore_errors=True)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


class _Run:
    """One app on one cluster: two drivers, one after the other, and then one of empty tasks."""

    def __init__(
        self, spark: SparkCluster, options: dict[str, Any], bootstrap: str, partitions: int
    ) -> None:
        self._spark = spark
        self._options = options
        self._source = str(options["source"])
        self._partitions = partitions
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True},
            logger=SILENT,
        )

    def measure(self, done: Callable[[int], None]) -> ManyPartitions:
        for _ in range(CORES):
            self._spark.add_worker()
        self._fill(BATCHES)
        log = self._start("driver")
        sessions = [self._driver, *(worker.process for worker in self._spark.workers)]
        samplers = [Sampler(process.pid) for process in sessions]
        began, lines = self._wait_for(log, BATCHES, done)
        measured = lines[_WARM - 1 :]
        for each in samplers:
            each.stop()
        first, last = measured[0]["at"], measured[-1]["at"]
        count = len(measured) - 1
        cpu = sum(cpu_between(each.samples, first, last) for each in samplers)
        python_bytes, jvm_bytes = self._peak_bytes()
        restore_s = self._restore()
        return ManyPartitions(
            partitions=self._partitions,
            records=self._partitions * _RECORDS,
            first_s=lines[0]["at"] - began,
            batch_s=median(later["at"] - earlier["at"] for earlier, later in pairwise(measured)),
            cpu_s=cpu / count,
            puts=sum(each["puts"] for each in measured[1:]) / count,
            restore_s=restore_s,
            python_bytes=python_bytes,
            jvm_bytes=jvm_bytes,
            empty_s=self._empty(),
        )

    def _restore(self) -> float:
        """End the driver and all workers; return what a new driver on new machines takes."""
        for worker in tuple(self._spark.workers):
            self._spark.lose(worker)
        os.killpg(self._driver.pid, signal.SIGKILL)
        self._driver.wait()
        for _ in range(CORES):
            self._spark.add_worker()
        self._fill(1)
        log = self._start("another-driver")
        began, lines = self._wait_for(log, 1, lambda _: None)
        return float(lines[0]["at"] - began)

    def _empty(self) -> float:
        """Return what a job takes of as many tasks of Spark's that do nothing."""
        os.killpg(self._driver.pid, signal.SIGKILL)
        self._driver.wait()
        log = self._start("empty-driver", empty_tasks=self._partitions)
        return float(self._wait_for(log, 1, lambda _: None)[1][0]["seconds"])

    def _start(self, name: str, **options: object) -> Path:
        machine = self._spark.add_machine(name)
        shutil.copy(str(many_app.__file__), machine.path(_PROGRAM))
        config = {"spark.driver.memory": "1g", "spark.executor.memory": "1g"}
        given = json.dumps({**self._options, **options})
        self._driver = self._spark.submit(machine, _PROGRAM, given, config=config)
        return self._spark.log(name)

    def _peak_bytes(self) -> tuple[int, int]:
        """Return the most memory of the driver's Python, and of its JVM, so far."""
        jvm = self._driver.pid
        (python,) = (pid for pid in session(jvm) if pid != jvm and _PROGRAM in command(pid))
        return _peak_bytes(python), _peak_bytes(jvm)

    def _wait_for(
        self, log: Path, batches: int, done: Callable[[int], None]
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return when the session was up, and the batches, once there are as many."""
        deadline = time.monotonic() + _LIMIT_S
        while True:
            lines = _lines(log)
            found = [line for line in lines if "records" in line]
            done(len(found))
            if len(found) >= batches:
                return lines[0]["at"], found
            if self._driver.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{batches} batches do not come: {log.read_text()[-2_000:]}")
            time.sleep(_POLL_S)

    def _fill(self, batches: int) -> None:
        """Write so many batches, each partition's share the same."""
        for row in range(batches * _RECORDS):
            for partition in range(self._partitions):
                key = b"%d-%d" % (partition, row % 50)
                while True:
                    try:
                        self._producer.produce(self._source, b"1", key, partition)
                        break
                    except BufferError:
                        self._producer.poll(0.1)
        if self._producer.flush(300):
            raise RuntimeError("the broker did not take all records")


def _peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(kilobytes)


def _lines(log: Path) -> list[dict[str, Any]]:
    text = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in text if line.startswith('{"at"')]
