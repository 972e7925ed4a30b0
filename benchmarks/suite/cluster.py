"""The broker of the suite: creates, fills, watches and reads topics."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from benchmarks.suite.dataset import PARTITIONS, Dataset
from benchmarks.suite.formats import Decoder
from benchmarks.suite.workload import Results
from devtools.servers.kafka import KafkaBroker, create_topic
from devtools.servers.silent_logger import SILENT
from kstreams import Kafka

__all__ = ("CacheInUse", "Cluster", "Output")

_CHUNK = 10_000
_WAIT_S = 0.2  # for a full chunk; the last chunk is never full


class CacheInUse(Exception):
    """Another run of the suite uses the cache."""


class Cluster:
    """One broker process with its data in the cache; enter it as a context.

    Attributes:
        cache: The folder of all runs.

    Raises:
        CacheInUse: On entering, if another run uses the cache.
    """

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._folder = cache / "broker"
        self._broker = KafkaBroker(self._folder, heap_mb=1024)

    def __enter__(self) -> Cluster:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = (self._folder / "in-use").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise CacheInUse(
                f"another run uses {self._folder.parent}: wait for it, or give another --cache"
            ) from None
        self._broker.start()
        self._admin = Kafka(self.bootstrap).admin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._admin.close()
        self._broker.stop()
        self._lock.close()

    @property
    def bootstrap(self) -> str:
        """The broker's address."""
        return self._broker.bootstrap

    @property
    def pid(self) -> int:
        """The id of the broker's process."""
        return self._broker.pid or 0

    def create(self, topic: str, partitions: int = PARTITIONS) -> None:
        """Create an empty topic."""
        create_topic(self.bootstrap, topic, partitions, {})

    def delete_all_but(self, kept: Callable[[str], bool]) -> None:
        """Delete all other topics: outputs, changelogs and further topics of peers."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap}, logger=SILENT)
        known = admin.list_topics(timeout=30).topics
        gone = [name for name in known if not kept(name) and not name.startswith("__")]
        if gone:
            for future in admin.delete_topics(gone, operation_timeout=30).values():
                future.result(60)

    def size_of(self, wanted: Callable[[str], bool]) -> int:
        """Return the total size of the matching topics on disk, in bytes."""
        folders = [path for path in (self._folder / "data").iterdir() if path.is_dir()]
        found = (path for path in folders if wanted(path.name.rpartition("-")[0]))
        return sum(file.stat().st_size for path in found for file in path.glob("*.log"))

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics."""
        return self._admin.topics(internal=True)

    def ends(self, topic: str) -> int:
        """Return the number of records written to a topic so far."""
        return sum(self._admin.end_offsets(topic, committed=False).values())

    def fill(self, dataset: Dataset, count: int, done: Callable[[int], None]) -> str:
        """Write a dataset to its topic unless the topic exists; return the topic.

        Args:
            dataset: The dataset to write.
            count: The number of records of the workload.
            done: Called regularly with the number of written records.
        """
        topic = dataset.topic(count)
        known = topic in self._admin.topics()
        if known and self.ends(topic) == dataset.rows(count):
            return topic
        if known:
            self._admin.delete(topic)
        self.create(topic, dataset.partitions)
        rows = dataset.topic_rows(dataset.records(count))
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "queue.buffering.max.messages": 500_000,
                "linger.ms": 20,
                "enable.idempotence": True,
            },
            logger=SILENT,
        )
        for start in range(0, rows.num_rows, _CHUNK):
            _produce(producer, topic, rows.slice(start, _CHUNK))
            done(start)
        if producer.flush(120):
            raise RuntimeError(f"the broker did not take all records of {topic}")
        return topic


def _produce(producer: Producer, topic: str, rows: pa.Table) -> None:
    columns = (rows.column(name).to_pylist() for name in ("key", "value", "timestamp", "partition"))
    for key, value, timestamp, partition in zip(*columns, strict=True):
        while True:
            try:
                producer.produce(topic, value, key, partition=partition, timestamp=timestamp)
                break
            except BufferError:
                producer.poll(0.1)
    producer.poll(0)


class Output:
    """The records read from an output topic so far: the last result of each key.

    Args:
        bootstrap: The broker.
        topic: The topic.
        decode: Decodes a record.
        partitions: The number of partitions.
        keys_tell: Whether the key of a record alone identifies the result: then only the last of
            several records with the same key is decoded.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        decode: Decoder,
        partitions: int = PARTITIONS,
        *,
        keys_tell: bool = False,
    ) -> None:
        self.results: Results = {}
        self._keys_tell = keys_tell
        self._decode = decode
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reader-{topic}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "queued.max.messages.kbytes": 65_536,
            },
            logger=SILENT,
        )
        self._places = [TopicPartition(topic, partition, 0) for partition in range(partitions)]

    def read(self) -> None:
        """Read all records that have arrived since the last call."""
        self._consumer.assign(self._places)
        open_ones = {place.partition for place in self._places}
        latest: dict[bytes, tuple[bytes | None, int]] = {}
        while open_ones:
            for message in self._consumer.consume(_CHUNK, _WAIT_S):
                if error := message.error():
                    if error.code() != -191:  # end of partition
                        raise KafkaException(error)
                    open_ones.discard(message.partition())
                    continue
                key, value, time = message.key() or b"", message.value(), message.timestamp()[1]
                if self._keys_tell:
                    latest[key] = value, time
                else:
                    self._take(key, value, time)
        for key, (value, time) in latest.items():
            self._take(key, value, time)
        self._places = self._consumer.position(self._places)
        for place in self._places:
            place.offset = max(place.offset, 0)

    def skip(self) -> None:
        """Skip all records that have arrived so far."""
        for place in self._places:
            place.offset = self._consumer.get_watermark_offsets(place, 30)[1]

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _take(self, key: bytes, value: bytes | None, time: int) -> None:
        place, result = self._decode(key, value)
        if result is None:
            self.results.pop(place, None)
            return
        self.results[place] = (result, time)
