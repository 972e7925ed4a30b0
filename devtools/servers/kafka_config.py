"""The configuration of the test broker, and the keys of its SSL listener."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kstreams.spark.startup.java import java_home

USER = "alice"
PASSWORD = "alice-secret"
"""The password of the SASL user and of all key stores."""

_FOREVER_MS = str(2**63 - 1)


def broker_properties(
    folder: Path, ports: Sequence[int], *, sasl: bool, ssl: bool
) -> dict[str, str]:
    """Return the server properties; ports are those of PLAIN, CONTROLLER, SASL and SSL."""
    protocols = {"PLAIN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    if sasl:
        protocols["SASL"] = "SASL_PLAINTEXT"
    if ssl:
        protocols["SSL"] = "SSL"
    numbers = dict(zip(("PLAIN", "CONTROLLER", "SASL", "SSL"), ports, strict=True))
    addresses = {name: f"{name}://127.0.0.1:{numbers[name]}" for name in protocols}
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{numbers['CONTROLLER']}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAIN",
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(a for n, a in addresses.items() if n != "CONTROLLER"),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        "log.dirs": str(folder / "data"),
        **_ONE_NODE,
        **(_sasl_properties() if sasl else {}),
        **(_ssl_properties(folder) if ssl else {}),
    }


_ONE_NODE = {
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "log.cleaner.dedupe.buffer.size": "4194304",
    # After a kill, the controller waits this long before it considers the broker dead.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # Tests write event times in the far past and in the future.
    "log.message.timestamp.before.max.ms": _FOREVER_MS,
    "log.message.timestamp.after.max.ms": _FOREVER_MS,
}


def _sasl_properties() -> dict[str, str]:
    modules = "org.apache.kafka.common.security"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl.plain.sasl.jaas.config": (
            f'{modules}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        ),
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
            f"{modules}.scram.ScramLoginModule required;"
        ),
    }


def _ssl_properties(folder: Path) -> dict[str, str]:
    prefix = "listener.name.ssl.ssl."
    return {
        f"{prefix}keystore.type": "PKCS12",
        f"{prefix}keystore.location": str(folder / "server.p12"),
        f"{prefix}keystore.password": PASSWORD,
        f"{prefix}truststore.type": "PEM",
        f"{prefix}truststore.location": str(folder / "client.pem"),
        f"{prefix}client.auth": "requested",
    }


def make_stores(folder: Path) -> None:
    """Create self-signed keys with keytool: server.p12, ca.pem, client.p12, client.pem."""
    for name, certificate in (("server", "ca.pem"), ("client", "client.pem")):
        store = folder / f"{name}.p12"
        _keytool(
            *("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650"),
            *("-dname", f"CN={name}", "-ext", "san=dns:localhost,ip:127.0.0.1"),
            *("-alias", name, "-storetype", "PKCS12", "-keystore", str(store)),
        )
        _keytool("-exportcert", "-rfc", "-alias", name, "-keystore", str(store),
                 "-file", str(folder / certificate))  # fmt: skip


def _keytool(*arguments: str) -> None:
    command = [str(java_home() / "bin" / "keytool"), *arguments, "-storepass", PASSWORD]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"keytool failed: {done.stdout}{done.stderr}")
