"""The output of a failing run contains no secret of its connection or storage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import Bucket
from kstreams import TEXT, Emitter, Kafka, Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]

TOKEN = "hunter2/session+token"  # a made-up secret


def test_failing_run_shows_no_secret(
    broker: KafkaBroker, bucket: Bucket, topic_name: str, tmp_path: Path
) -> None:
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": broker.username,
        "sasl.password": broker.password,
    }
    broker.create_topic(topic_name)
    with Emitter(Topic(topic_name, TEXT, TEXT), Kafka(broker.sasl_bootstrap, options)) as emitter:
        emitter.emit_many([("a", "good"), ("a", "bad")])
    secrets = [broker.password, bucket.secret, TOKEN]
    given = {
        "home": str(tmp_path),
        "topic": topic_name,
        "bootstrap": broker.sasl_bootstrap,
        "options": options,
        "url": f"s3://{bucket.name}/secretive",
        "s3": {
            "endpoint_url": bucket.endpoint,
            "region": "us-east-1",
            "access_key": bucket.access,
            "secret_key": bucket.secret,
        },
        "wrong": {"session_token": TOKEN},
        "secrets": secrets,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.kstreams.spark.run_with_secrets"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    assert "ProcessingError: " in output
    assert output.count("failed with ") == 2, output[-3000:]
    assert "CredentialsError: " in output
    assert done.stdout.count("in arguments of []") == 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = {str(path): path.read_bytes().decode(errors="replace") for path in files}
    assert any("SparkListenerJobStart" in text for text in texts.values())
    texts["output"] = output
    leaks = {name for name, text in texts.items() if any(secret in text for secret in secrets)}
    assert leaks == set()
