"""Topics, and connections to them.

- `Topic`: a name and the serdes of key and value. `topic_by` chooses a topic for each record.
- `Embedded(directory)`: topics on this machine's disk, for development, tests and single-node use.
- `Kafka(bootstrap)`: topics of a Kafka cluster (needs the extra `kafka`).
- `Emitter`: writes typed records to a topic from any Python process.
- `Framing`, `HeaderFrames`: how a topic stores the frames of keys and values, such as schema ids.
- `Partitioner`: chooses the partition of a key. `Murmur2Partitioner`, the default, is Kafka's,
  `Fnv1aPartitioner` that of goka and Sarama; `partition_by` creates a partitioner from a function,
  which may use the hashes `murmur2` and `fnv1a`, and `partition_by_part` one of a part of the key.

`Embedded` and `Kafka` have a `TopicAdmin`, a `TopicReader` and a `TopicWriter`, which work on raw
records. An app runs on these two kinds of connection only, because planning, reading in workers and
publishing with a commit need further methods.

Example:
    >>> from tempfile import TemporaryDirectory
    >>> from kstreams.io import Embedded, Emitter, Topic
    >>> from kstreams.serde import INT64, TEXT
    >>> orders = Topic("orders", key=TEXT, value=INT64)
    >>> with TemporaryDirectory() as place:
    ...     topics = Embedded(place)
    ...     topics.admin().create("orders", partitions=1)
    ...     with Emitter(orders, topics) as emitter:
    ...         _ = emitter.emit_many([("ann", 3), ("bob", 5)])
    ...     topics.admin().end_offsets("orders")
    {0: 2}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.connection import (
    Appended,
    RawRecord,
    TopicAdmin,
    TopicEnds,
    TopicReader,
    TopicWriter,
)
from kstreams.embedded.connection import Embedded
from kstreams.embedded.writer import Batching
from kstreams.emitter import Emitter
from kstreams.fnv1a import Fnv1aPartitioner, fnv1a
from kstreams.framing import Framing, HeaderFrames
from kstreams.key_part import partition_by_part
from kstreams.lazy import lazy_names
from kstreams.partitioner import (
    FunctionPartitioner,
    Murmur2Partitioner,
    Partitioner,
    murmur2,
    partition_by,
)
from kstreams.topic import Topic, TopicChoice, topic_by

if TYPE_CHECKING:
    from kstreams_kafka.admin import KafkaAdmin, TopicDescription
    from kstreams_kafka.options import Kafka
    from kstreams_kafka.writer import KafkaWriter
else:  # a checker would take any name then
    __getattr__ = lazy_names(
        __name__,
        {
            "Kafka": "kstreams_kafka.options",
            "KafkaAdmin": "kstreams_kafka.admin",
            "KafkaWriter": "kstreams_kafka.writer",
            "TopicDescription": "kstreams_kafka.admin",
        },
    )

__all__ = (
    "Appended",
    "Batching",
    "Embedded",
    "Emitter",
    "Fnv1aPartitioner",
    "Framing",
    "FunctionPartitioner",
    "HeaderFrames",
    "Kafka",
    "KafkaAdmin",
    "KafkaWriter",
    "Murmur2Partitioner",
    "Partitioner",
    "RawRecord",
    "Topic",
    "TopicAdmin",
    "TopicChoice",
    "TopicDescription",
    "TopicEnds",
    "TopicReader",
    "TopicWriter",
    "fnv1a",
    "murmur2",
    "partition_by",
    "partition_by_part",
    "topic_by",
)
