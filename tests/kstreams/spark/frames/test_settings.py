"""`frame_settings`: known to Spark, and sufficient for `transform_frames`."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kstreams.frames import frame_settings
from kstreams.spark.frames.operators import chosen_operator
from kstreams.spark.frames.sessions import check_width, shuffle_partitions


@pytest.mark.spark
def test_frame_settings_for_running_session_are_accepted_by_it(spark: SparkSession) -> None:
    session = spark.newSession()
    for name, value in frame_settings(3, running=True, local_checkpoint=True).items():
        session.conf.set(name, value)
    check_width(shuffle_partitions(session), (3,))
    assert chosen_operator(session, "auto", 2) == "transform-with-state"


def test_frame_settings_for_start_include_those_for_running_session() -> None:
    started, running = frame_settings(2), frame_settings(2, running=True)
    assert started.items() > running.items()
    assert all(name.startswith("spark.sql.") for name in running)
