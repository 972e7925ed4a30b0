"""Each kind of security options, against a broker that requires it."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import BrokerUnavailableError
from kstreams.partitioner import partition_by
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from kstreams_kafka.sink import write_rows
from tests.support.kafka.sample_records import output_table

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]

FIRST = partition_by(lambda _key, _count: 0, name="first")


def _client_pem(broker: KafkaBroker, folder: Path) -> tuple[Path, Path]:
    """Extract key and certificate from the client's key store."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    parts = (folder / "key.pem", folder / "chain.pem")
    for part, what in zip(parts, ("-nocerts", "-nokeys"), strict=True):
        command = [openssl, "pkcs12", "-in", str(broker.client_store), "-nodes", what]
        command += ["-passin", f"pass:{broker.password}", "-out", str(part)]
        subprocess.run(command, check=True, capture_output=True)
    return parts


def test_records_are_written_and_read_with_each_kind_of_security_options(
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
    keys: list[bytes | None] = [name.encode() for name in kinds]
    for own, kind in zip(keys, kinds.values(), strict=True):
        write_rows(kind, output_table(topic_name, [own]), partitioner=FIRST, id_prefix="a")
    for kind in kinds.values():
        reader = RangeReader(kind)
        (table,) = reader.read([OffsetRange(topic_name, 0, 0, len(kinds))])
        assert table.column("key").to_pylist() == keys
        reader.close()


def test_broker_with_untrusted_certificate_is_rejected(
    broker: KafkaBroker, topic_name: str
) -> None:
    broker.create_topic(topic_name)
    trusting_others = Kafka(broker.ssl_bootstrap, {"security.protocol": "SSL"})
    reader = RangeReader(trusting_others, timeout=timedelta(seconds=2))
    with pytest.raises(BrokerUnavailableError, match="certificate verify failed"):
        reader.read([OffsetRange(topic_name, 0, 0, 1)])
