"""Testing: a driver for topologies, a clock, and suites for plugins. Needs no Spark.

- `TopologyTestDriver` runs a topology in this process, with the code that runs on Spark. The usual
  choice.
- `TopicLimits` limits a topic of the driver. `FakeClock` is a clock that the test advances,
  `VirtualTimeLoop` an event loop without real delays.
- `RecordingSink` records results by commit.
- `SerdeContract`, `LogContract`, `IntakeContract`, `SinkContract`, `WorkingStoreContract`,
  `ObjectStoreContract`: derive a pytest class from them to test a serde, a log, an intake, a sink,
  a state backend or a durable storage. `WrittenBytes` has bytes of an older version.

Example:
    >>> from kstreams import INT64, TEXT, Topic, TopologyBuilder, aggregate, timestamped_store
    >>> from kstreams.aggregators import count
    >>> from kstreams.testing import TopologyTestDriver
    >>> clicks = Topic("clicks", key=TEXT, value=TEXT)
    >>> counts = timestamped_store("counts", key=TEXT, value=INT64)
    >>> builder = TopologyBuilder("clicks")
    >>> node = builder.add_source("clicks", clicks)
    >>> node = builder.add_processor("count", aggregate(count(), store=counts), node)
    >>> with TopologyTestDriver(builder.build(), partitions=3) as driver:
    ...     driver.pipe(clicks, "ann", "/home", timestamp=1_000)
    ...     driver.store_contents(counts)
    {'ann': (1, 1000)}
"""

from __future__ import annotations

from kstreams.clock import FakeClock
from kstreams.topic_limits import TopicLimits
from kstreams_intake.testing import IntakeContract
from kstreams_testing.driver import TopologyTestDriver
from kstreams_testing.log import LogContract
from kstreams_testing.object_store import ObjectStoreContract
from kstreams_testing.recording_sink import RecordingSink
from kstreams_testing.serde import SerdeContract
from kstreams_testing.serde_cases import WrittenBytes
from kstreams_testing.sink import SinkContract
from kstreams_testing.virtual_time import VirtualTimeLoop
from kstreams_testing.working_store import WorkingStoreContract

__all__ = (
    "FakeClock",
    "IntakeContract",
    "LogContract",
    "ObjectStoreContract",
    "RecordingSink",
    "SerdeContract",
    "SinkContract",
    "TopicLimits",
    "TopologyTestDriver",
    "VirtualTimeLoop",
    "WorkingStoreContract",
    "WrittenBytes",
)
