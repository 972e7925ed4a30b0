"""Brokers simulated by librdkafka in this process; tests can move partition leaders.

The brokers accept and return records, but do not support admin requests.
"""

from __future__ import annotations

import ctypes
from types import TracebackType

import confluent_kafka.cimpl

from kstreams_kafka.native.client import PRODUCER

_P, _I32, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_size_t
_TEXT_BYTES = 512
_CALLS = {
    "conf_new": (_P,),
    "conf_set": (_I32, _P, _TEXT, _TEXT, _TEXT, _SIZE),
    "destroy": (None, _P),
    "mock_cluster_bootstraps": (_TEXT, _P),
    "mock_cluster_destroy": (None, _P),
    "mock_cluster_new": (_P, _P, _I32),
    "mock_partition_set_leader": (_I32, _P, _TEXT, _I32, _I32),
    "mock_topic_create": (_I32, _P, _TEXT, _I32, _I32),
    "new": (_P, _I32, _P, _TEXT, _SIZE),
}


class MockCluster:
    """A cluster of brokers 1 to `count`; enter it as a context.

    Args:
        count: The number of brokers.
    """

    def __init__(self, count: int) -> None:
        loaded = ctypes.CDLL(confluent_kafka.cimpl.__file__)
        for name, (returned, *given) in _CALLS.items():
            call = getattr(loaded, f"rd_kafka_{name}")
            call.restype, call.argtypes = returned, given
        self._librdkafka = loaded
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        conf = loaded.rd_kafka_conf_new()
        loaded.rd_kafka_conf_set(conf, b"log_level", b"0", text, _TEXT_BYTES)
        self._client = loaded.rd_kafka_new(PRODUCER, conf, text, _TEXT_BYTES)
        assert self._client, text.value
        self._cluster = loaded.rd_kafka_mock_cluster_new(self._client, count)
        self.bootstrap: str = loaded.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic whose partitions have one replica each."""
        done = self._librdkafka.rd_kafka_mock_topic_create(
            self._cluster, name.encode(), partitions, 1
        )
        assert done == 0, done

    def lead(self, topic: str, partition: int, broker: int) -> None:
        """Make a broker the leader of a partition; the previous leader refuses requests."""
        done = self._librdkafka.rd_kafka_mock_partition_set_leader(
            self._cluster, topic.encode(), partition, broker
        )
        assert done == 0, done

    def __enter__(self) -> MockCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._librdkafka.rd_kafka_mock_cluster_destroy(self._cluster)
        self._librdkafka.rd_kafka_destroy(self._client)
