"""Executors that cannot run the tasks are refused at the start, with a hint."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.cluster.clustered_app import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.cluster,
    pytest.mark.timeout(600),
]


def test_executors_with_another_or_no_version_of_the_library_are_refused(app: ClusteredApp) -> None:
    machines = [worker.machine for worker in app.cluster.workers]
    for machine in machines:
        (about,) = machine.path("env").glob("lib/*/site-packages/kstreams_spark-*/METADATA")
        about.write_text("Metadata-Version: 2.4\nName: kstreams-spark\nVersion: 0.0.9\n")
    said = refusal(app)
    assert "CompileError: kstreams-spark " in said
    assert "has 0.0.9" in said
    assert "Hint: install kstreams-spark==" in said

    for machine in machines:
        for package in machine.path("env").glob("lib/*/site-packages/kstreams*"):
            shutil.rmtree(package)
    assert "has none" in refusal(app)


def test_start_rejects_executors_without_access_to_durable_log(app: ClusteredApp) -> None:
    of_each_machine = {"directory": "/tmp/checkpoint"}
    said = refusal(app, of_each_machine)
    assert "cannot read the objects that the driver wrote to the durable log" in said
    assert "App(..., checkpoint='s3://bucket/app')" in said

    keys = {"AWS_ACCESS_KEY_ID": app.bucket.access, "AWS_SECRET_ACCESS_KEY": app.bucket.secret}
    assert "CredentialsError" in refusal(app, {"keys": False}, keys)


def refusal(
    app: ClusteredApp,
    options: Mapping[str, object] = MappingProxyType({}),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the log of a driver that refuses to start."""
    driver = app.start(options=options, environment=environment)
    app.cluster.wait(lambda: driver.process.poll() is not None, "the refusal")
    assert driver.process.returncode != 0
    return app.cluster.log(driver.machine.name).read_text()
