"""What a user's own tests need: a driver for topologies, a clock, suites for plugins.

Read `TopologyTestDriver` first; it runs a topology in this process, record by record.
`WorkingStoreContract` and `ObjectStoreContract` prove a state backend and a durable
storage of one's own: derive a test class from them and say how to make one. Depends on
no test framework and on no pyspark; the suites are written for pytest.
"""

from __future__ import annotations

from kstreams.clock import FakeClock
from kstreams.testing.driver import TopologyTestDriver
from kstreams.testing.object_store import ObjectStoreContract
from kstreams.testing.working_store import WorkingStoreContract
from kstreams.topic_limits import TopicLimits

__all__ = (
    "FakeClock",
    "ObjectStoreContract",
    "TopicLimits",
    "TopologyTestDriver",
    "WorkingStoreContract",
)
