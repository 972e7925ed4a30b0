from __future__ import annotations

import pytest

from kstreams.errors import Where
from kstreams.spark.kafka_loss import data_loss

LOST = """[STREAM_FAILED] Query terminated with exception: Some data may have been lost because \
they are not available in Kafka any more;
either the data was aged out by Kafka or the topic may have been deleted before all the data in the
topic was processed.
If you don't want your streaming query to fail on such cases, set the source option \
failOnDataLoss to false.
Reason: """


@pytest.mark.parametrize(
    ("reason", "where"),
    [
        pytest.param(
            "Could not read records in offset [50, 100) for topic partition my-topic.x-10\n"
            "with consumer group spark-kafka-source-1-executor.",
            Where(topic="my-topic.x", partition=10, offset=50),
            id="deleted",
        ),
        pytest.param(
            "Starting offset for a-0 was 7 but consumer reset to 9.",
            Where(topic="a", partition=0, offset=7),
            id="start",
        ),
        pytest.param(
            "Partition a-1 offset was changed from 50 to 5.\nThis could be either",
            Where(topic="a", partition=1, offset=50),
            id="anew",
        ),
        pytest.param(
            "Partitions Set(a-b-1, a-b-2) have been deleted. SQLSTATE: XXKST",
            Where(topic="a-b", partition=1),
            id="partitions",
        ),
        pytest.param(
            "Cannot find initial offsets for partitions Set(a-1). They may have been deleted.",
            Where(topic="a", partition=1),
            id="initial",
        ),
        pytest.param(
            "Added partition a-3 starts from 4 instead of 0.",
            Where(topic="a", partition=3),
            id="added",
        ),
        pytest.param("something that a later Spark says", Where(), id="unknown"),
    ],
)
def test_place_is_taken_from_the_text(reason: str, where: Where) -> None:
    found = data_loss(RuntimeError(LOST + reason))
    assert found is not None
    assert found.where == where
    assert "Hint: " in str(found)


def test_deleted_topic_is_data_loss() -> None:
    text = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not"
    found = data_loss(RuntimeError(text))
    assert found is not None
    assert found.where == Where()


def test_other_errors_are_not() -> None:
    assert data_loss(RuntimeError("Job aborted due to stage failure")) is None
