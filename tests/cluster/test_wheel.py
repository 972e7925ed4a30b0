"""The wheel, installed in a separate environment without the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.spark_home import LOCAL_CLUSTER
from kstreams.spark.java import java_home
from tests.cluster.project import expected_counts, make_project, run_project

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

STORES = ("gcs", "rocksdb", "s3")
CONNECTORS = {
    "amqp": "kstreams_amqp.queue",
    "amqp-exchange": "kstreams_amqp.exchange",
    "bigtable": "kstreams_bigtable.table",
    "cassandra": "kstreams_cassandra.table",
    "delta": "kstreams_delta.table",
    "dynamodb": "kstreams_dynamodb.table",
    "events": "kstreams_events.event_stream",
    "http": "kstreams_http.post",
    "iceberg": "kstreams_iceberg.table",
    "mongodb": "kstreams_mongodb.collection",
    "objects": "kstreams_objects.sink",
    "opensearch": "kstreams_opensearch.index",
    "postgres": "kstreams_postgres.table",
    "postgres-changes": "kstreams_postgres.change_log",
    "postgres-rows": "kstreams_postgres.poll_log",
    "rabbitmq": "kstreams_rabbitmq.log",
    "rabbitmq-stream": "kstreams_rabbitmq.stream",
    "redis": "kstreams_redis.keys",
    "redis-stream": "kstreams_redis.stream",
    "redis-stream-log": "kstreams_redis.log",
    "sftp": "kstreams_sftp.files",
    "websocket": "kstreams_events.web_socket",
}
SERDES = ("avro", "json", "msgpack", "msgspec", "protobuf", "registry", "xml")
PACKAGES = (
    "kstreams",
    "kstreams_daemon",
    "kstreams_objectstore",
    "kstreams_rows",
    *sorted({module.partition(".")[0] for module in CONNECTORS.values()}),
    *(f"kstreams_{name}" for name in (*STORES, *SERDES)),
)

LOOK = f"""
import importlib.metadata as m
from importlib import import_module
from pathlib import Path
from kstreams import App
for name in {PACKAGES}:
    package = import_module(name)
    print(package.__file__, (Path(package.__file__).parent / "py.typed").is_file())
for group in ("kstreams.connectors", "kstreams.stores", "kstreams.serdes"):
    for entry in sorted(m.entry_points(group=group), key=lambda e: e.name):
        print(entry.name, entry.load().__module__)
"""


@pytest.fixture
def python(wheel_environment: Path) -> Path:
    """The Python of the environment with the wheel."""
    return wheel_environment / "bin" / "python"


def test_installed_wheel_has_packages_types_and_entry_points(python: Path, tmp_path: Path) -> None:
    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", LOOK], cwd=tmp_path, env=clean, capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    site = next((python.parents[1] / "lib").glob("python*")) / "site-packages"
    count = len(PACKAGES)
    assert lines[:count] == [f"{site / name / '__init__.py'} True" for name in PACKAGES]
    serdes = [name for name in SERDES if name not in ("msgspec", "registry")]
    assert lines[count:] == [
        *(f"{name} {module}" for name, module in CONNECTORS.items()),
        "gcs kstreams_gcs.settings",
        "memory kstreams.state.backend.memory",
        "rocksdb kstreams_rocksdb.settings",
        "s3 kstreams_s3.settings",
        *(f"{name} kstreams_{name}.serde" for name in serdes),
    ]


@pytest.mark.parametrize("way", ["python", "spark-submit", "executors"])
def test_installed_wheel_counts_words(python: Path, tmp_path: Path, way: str) -> None:
    script = make_project(tmp_path)
    command = [str(python)]
    environment = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    if way == "spark-submit":
        submit = Path(sys.executable).parent / "spark-submit"
        command = [str(submit), "--master", "local[2]"]
        environment["JAVA_HOME"] = str(java_home())

    found = run_project(
        command,
        script,
        backend="rocksdb",
        master=LOCAL_CLUSTER if way == "executors" else None,
        environment=environment,
    )

    assert found.counts == expected_counts()
    assert found.library.startswith(str(python.parents[1]))
    shipped = ["/kstreams_packages_" in file for file in found.files]
    assert shipped == ([True, True] if way == "executors" else [False])
