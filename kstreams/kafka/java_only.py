"""The options that Kafka's Java client has and librdkafka has not."""

from __future__ import annotations

__all__ = ("is_java_only",)

_JAVA_ONLY = (
    "sasl.jaas.config",
    "sasl.client.callback.handler.class",
    "sasl.login.",
    "security.providers",
    "ssl.enabled.protocols",
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.type",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.",
)


def is_java_only(name: str) -> bool:
    """Tell whether librdkafka rejects this option because it is the Java client's alone."""
    return name.startswith(_JAVA_ONLY)
