"""Embedded topics: topics in a directory tree, for use without a Kafka broker.

For development, tests and single-node use. Read `Embedded`, the settings, then `EmbeddedLog`, which
appends, publishes, lists and reads segments. This package does not depend on pyspark or on Kafka.
"""

from __future__ import annotations

from kstreams.embedded.catalog import TopicInfo
from kstreams.embedded.connection import Embedded
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.reading import read_segment
from kstreams.embedded.segment import Segment
from kstreams.embedded.writer import Batching
from kstreams.errors import (
    CorruptSegmentError,
    InvalidTopicError,
    RowsRefusedError,
    TopicFormatError,
    UnknownPartitionError,
)

__all__ = (
    "Batching",
    "CorruptSegmentError",
    "Embedded",
    "EmbeddedLog",
    "InvalidTopicError",
    "RowsRefusedError",
    "Segment",
    "TopicFormatError",
    "TopicInfo",
    "UnknownPartitionError",
    "read_segment",
)
