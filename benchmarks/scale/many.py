"""A topology with many partitions on a Spark cluster: start, batches, restore, and the driver.

The cluster has a master, two workers with one core each and a driver, on machines that share no
files. The app's checkpoint is on a real S3 server. All of them run on this one machine: figures of
processor time and memory apply elsewhere, too, but durations apply only to these cores.
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
"""The number of records of each partition in a batch."""
_MEASURED = 5
_WARM = 1
BATCHES = _WARM + _MEASURED
_POLL_S = 0.2
_LIMIT_S = 900.0


@dataclass(frozen=True)
class ManyPartitions:
    """Figures of the run.

    Attributes:
        partitions: The number of source partitions, each with one task.
        records: The number of records of a batch, evenly spread over the partitions.
        first_s: The time from Spark's session to the first commit of a new app.
        batch_s: The median time from commit to commit.
        cpu_s: Processor seconds of a batch, of all processes except broker and storage.
        puts: Objects written to the durable log per batch.
        restore_s: The time from Spark's session to the first commit of a new driver, on workers
            without local state: all tasks restore their state.
        python_bytes: The peak memory of the driver's Python process.
        jvm_bytes: The peak memory of the driver's JVM.
        empty_s: The time of a Spark job with the same number of Python tasks that do nothing.
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
    """Run the app on the cluster and return the figures.

    Args:
        cluster: The broker.
        partitions: The number of source partitions.
        done: Called regularly with the number of committed batches.

    Raises:
        RuntimeError: Batches were not committed in time, or the broker did not accept all records.
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
    """One app on one cluster: first two drivers in sequence, then a driver with empty tasks."""

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
        """Stop the driver and all workers; return the restore time of a driver on new machines."""
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
        """Return the time of a Spark job with the same number of tasks that do nothing."""
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
        """Return the peak memory of the driver's Python process and of its JVM so far."""
        jvm = self._driver.pid
        (python,) = (pid for pid in session(jvm) if pid != jvm and _PROGRAM in command(pid))
        return _peak_bytes(python), _peak_bytes(jvm)

    def _wait_for(
        self, log: Path, batches: int, done: Callable[[int], None]
    ) -> tuple[float, list[dict[str, Any]]]:
        """Wait for a number of batches; return the start time of the session, and the batches."""
        deadline = time.monotonic() + _LIMIT_S
        while True:
            lines = _lines(log)
            found = [line for line in lines if "records" in line]
            done(len(found))
            if len(found) >= batches:
                return lines[0]["at"], found
            if self._driver.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"the app committed {len(found)} of {batches} batches before the driver ended "
                    f"or {_LIMIT_S:.0f} s had passed. End of the log: {log.read_text()[-2_000:]}"
                )
            time.sleep(_POLL_S)

    def _fill(self, batches: int) -> None:
        """Write several batches, evenly spread over the partitions."""
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
            raise RuntimeError("the broker did not accept all records within 300 s")


def _peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(kilobytes)


def _lines(log: Path) -> list[dict[str, Any]]:
    text = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in text if line.startswith('{"at"')]
