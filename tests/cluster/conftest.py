"""A cluster of machines that share no files, with an environment that has the built wheel."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.machine import why_no_machines
from devtools.servers.s3 import Bucket
from devtools.servers.spark_cluster import SparkCluster
from devtools.wheel import installed_wheels
from tests.cluster.clustered_app import ClusteredApp


@pytest.fixture(scope="session")
def wheel_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a virtual environment with the project's wheels, and this environment's packages."""
    return installed_wheels(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def cluster(tmp_path: Path, wheel_environment: Path) -> Iterator[SparkCluster]:
    """Start a Spark master and two workers with one core each.

    Skip the test if this machine cannot isolate the processes like separate machines.
    """
    if why := why_no_machines():
        pytest.skip(why)
    with SparkCluster(tmp_path / "cluster", wheel_environment) as running:
        running.add_worker()
        running.add_worker()
        yield running


@pytest.fixture
def app(cluster: SparkCluster, broker: KafkaBroker, bucket: Bucket) -> ClusteredApp:
    """Return an app on the cluster with its topics; no driver runs yet."""
    return ClusteredApp(f"counting-{uuid.uuid4().hex[:8]}", cluster, broker.bootstrap, bucket)
