"""The translated options, given to Kafka's Java client through Spark's own connector."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kstreams.kafka.client_options import SPARK_REDACTION_REGEX
from kstreams.kafka.options import Kafka
from kstreams.spark.java import java_home
from kstreams.spark.kafka_jars import kafka_connector_jars
from tests.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

_PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
given = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]")
for name, value in given["session"].items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for name, options in given["readers"].items():
    frame = spark.read.format("kafka").options(**options).option("subscribe", given["topic"]).load()
    print("RESULT", name, frame.count(), frame._jdf.queryExecution().toString().replace("\\n", " "))
"""


def _client_pem(broker: KafkaBroker, folder: Path) -> tuple[Path, Path]:
    """Take key and certificate out of the client's store, by Spark's and librdkafka's needs."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    parts = (folder / "key.pem", folder / "chain.pem")
    for part, what in zip(parts, ("-nocerts", "-nokeys"), strict=True):
        command = [openssl, "pkcs12", "-in", str(broker.client_store), "-nodes", what]
        command += ["-passin", f"pass:{broker.password}", "-out", str(part)]
        subprocess.run(command, check=True, capture_output=True)
    return parts


def test_spark_reads_by_every_kind_of_options(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    key, chain = _client_pem(broker, tmp_path)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + chain.read_text())
    sasl = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.username": broker.username,
        "sasl.password": broker.password,
    }
    ssl = {"security.protocol": "SSL", "ssl.ca.location": str(broker.ca_file)}
    store = {"ssl.keystore.location": str(broker.client_store)}
    kinds = {
        "bare": Kafka(broker.bootstrap),
        "plain": Kafka(broker.sasl_bootstrap, {**sasl, "sasl.mechanism": "PLAIN"}),
        "scram": Kafka(broker.sasl_bootstrap, {**sasl, "sasl.mechanism": "SCRAM-SHA-256"}),
        "ssl": Kafka(broker.ssl_bootstrap, ssl),
        "store": Kafka(
            broker.ssl_bootstrap, {**ssl, **store, "ssl.keystore.password": broker.password}
        ),
        "two-files": Kafka(
            broker.ssl_bootstrap,
            {**ssl, "ssl.key.location": str(key), "ssl.certificate.location": str(chain)},
        ),
        "one-file": Kafka(
            broker.ssl_bootstrap,
            {**ssl, "ssl.key.location": str(both), "ssl.certificate.location": str(both)},
        ),
    }
    broker.create_topic(topic_name, 2)
    for kind in kinds.values():
        settings: dict[str, Any] = {**kind.client_options("producer")}
        producer = Producer(settings)
        producer.produce(topic_name, b"value", b"key")
        assert producer.flush(30) == 0
    given = {
        "topic": topic_name,
        "readers": {name: {**kind.spark_options()} for name, kind in kinds.items()},
        "session": {
            "spark.jars": ",".join(map(str, kafka_connector_jars())),
            "spark.redaction.regex": SPARK_REDACTION_REGEX,
            "spark.ui.enabled": "false",
        },
    }
    environment = {"JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps(given),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = [line.split(maxsplit=3) for line in done.stdout.splitlines() if "RESULT" in line]
    assert [(name, str(len(kinds))) for name in kinds] == [(name, n) for _, name, n, _ in results]
    assert broker.password not in done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout + done.stderr
