"""A cluster of machines that share no files, with an environment that has the built wheel."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.servers.machine import why_no_machines
from devtools.servers.spark_cluster import SparkCluster
from devtools.wheel import installed_wheel


@pytest.fixture(scope="session")
def wheel_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, which finds dependencies in this one's."""
    return installed_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def cluster(tmp_path: Path, wheel_environment: Path) -> Iterator[SparkCluster]:
    """A master and two workers of a core each; skipped where machines cannot be had."""
    if why := why_no_machines():
        pytest.skip(why)
    with SparkCluster(tmp_path / "cluster", wheel_environment) as running:
        running.add_worker()
        running.add_worker()
        yield running


@pytest.fixture
def mount() -> Iterator[Path]:
    """A directory that all machines see, as if it were on a file server."""
    folder = Path(tempfile.mkdtemp(prefix="kstreams-cluster-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)
