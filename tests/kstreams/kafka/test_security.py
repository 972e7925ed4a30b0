"""Every kind of security options, at a broker that asks for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from devtools.servers.kafka import KafkaBroker
from kstreams.kafka.options import Kafka
from kstreams.kafka.range_reader import OffsetRange, RangeReader

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def _client_pem(broker: KafkaBroker, folder: Path) -> tuple[Path, Path]:
    """Take key and certificate out of the client's store."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    parts = (folder / "key.pem", folder / "chain.pem")
    for part, what in zip(parts, ("-nocerts", "-nokeys"), strict=True):
        command = [openssl, "pkcs12", "-in", str(broker.client_store), "-nodes", what]
        command += ["-passin", f"pass:{broker.password}", "-out", str(part)]
        subprocess.run(command, check=True, capture_output=True)
    return parts


def test_every_kind_of_options_reads_and_writes(
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
    broker.create_topic(topic_name)
    for kind in kinds.values():
        settings: dict[str, Any] = {**kind.client_options("producer")}
        producer = Producer(settings)
        producer.produce(topic_name, b"value", b"key")
        assert producer.flush(30) == 0
    for kind in kinds.values():
        reader = RangeReader(kind)
        (table,) = reader.read([OffsetRange(topic_name, 0, 0, len(kinds))])
        assert table.num_rows == len(kinds)
        reader.close()
