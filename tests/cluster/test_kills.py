"""An app on a real cluster goes on exactly, whatever of it dies, on machines that are empty."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from devtools.processes import kill
from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import Bucket
from devtools.servers.spark_cluster import SparkCluster
from tests.cluster.clustered import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def test_nothing_is_lost_or_counted_twice(
    cluster: SparkCluster, broker: KafkaBroker, bucket: Bucket, mount: Path
) -> None:
    name = f"counting-{uuid.uuid4().hex[:8]}"
    app = ClusteredApp(name, cluster, broker.bootstrap, bucket, mount / "checkpoint")
    app.emit(800)
    app.start(cluster.add_machine("driver"))
    app.wait_for_all()

    app.emit(800)
    kill(cluster.executors()[0])
    app.wait_for_all()

    app.emit(800)
    lost = cluster.workers[0]
    cluster.lose(lost)
    cluster.add_worker()
    app.wait_for_all()

    app.emit(800)
    kill(app.python)
    app.start(cluster.add_machine("another-driver"))

    app.assert_exact()
    app.stop()
