"""The Python client of librdkafka, in one place.

Other modules import the names of the client from here, so that a missing extra is reported in one
way, and errors of the client's type stubs are fixed once.
"""

from __future__ import annotations

try:
    from confluent_kafka import (
        OFFSET_INVALID,
        Consumer,
        IsolationLevel,
        KafkaError,
        KafkaException,
        Message,
        Producer,
        TopicCollection,
        TopicPartition,
    )
    from confluent_kafka.admin import (
        AdminClient,
        ConfigResource,  # pyright: ignore[reportPrivateImportUsage] # public by its documentation
        ListOffsetsResultInfo,  # pyright: ignore[reportPrivateImportUsage] # likewise
        NewTopic,  # pyright: ignore[reportPrivateImportUsage] # likewise
        OffsetSpec,  # pyright: ignore[reportPrivateImportUsage] # likewise
    )
except ImportError as exc:
    raise ImportError("Kafka needs confluent-kafka: pip install 'kstreams-spark[kafka]'") from exc

__all__ = (
    "EARLIEST",
    "LATEST",
    "OFFSET_INVALID",
    "AdminClient",
    "ConfigResource",
    "Consumer",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "ListOffsetsResultInfo",
    "Message",
    "NewTopic",
    "OffsetSpec",
    "Producer",
    "TopicCollection",
    "TopicPartition",
)

# The stubs leave these two untyped.
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call, assignment, unused-ignore]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call, assignment, unused-ignore]
