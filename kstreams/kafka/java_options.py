"""librdkafka's option names and values as Kafka's Java client knows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kstreams.kafka.errors import KafkaOptionsError

__all__ = ("is_java_only", "java_options")

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
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_NO_COUNTERPART = (
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.method",
    "ssl.ca.certificate.stores",
    "ssl.certificate.pem",
    "ssl.crl.location",
    "ssl.key.pem",
)
"""Security settings that would be lost in silence if they were passed on as they are."""


def is_java_only(name: str) -> bool:
    """Tell whether librdkafka rejects this option because it is the Java client's alone."""
    return name.startswith(_JAVA_ONLY)


def java_options(options: Mapping[str, str]) -> dict[str, str]:
    """
    Return options of librdkafka as the Java client's.

    Names that both clients share, and those of neither, pass through; an
    option already in the Java client's words wins over a translated one. PEM
    files given by path must lie there on every machine that runs a client,
    except a client certificate whose key is in another file: the Java client
    wants both in one, so their texts are passed on, read on this machine.

    Raises:
        KafkaOptionsError: A security setting has no counterpart, or a file
            does not hold what the Java client reads.

    """
    own = {name: value for name, value in options.items() if is_java_only(name)}
    rest = {name: value for name, value in options.items() if name not in own}
    translated = {
        **_sasl(rest, own),
        **_trust(rest),
        **_identity(rest),
        **_host_check(rest, own),
    }
    for name in _NO_COUNTERPART:
        if rest.pop(name, None) is not None and "sasl.jaas.config" not in own:
            raise _untranslatable(name)
    return {**rest, **translated, **own}


def _sasl(rest: dict[str, str], own: Mapping[str, str]) -> dict[str, str]:
    mechanism = rest.pop("sasl.mechanisms", None) or rest.pop("sasl.mechanism", None)
    user, password = rest.pop("sasl.username", None), rest.pop("sasl.password", None)
    translated = {"sasl.mechanism": mechanism} if mechanism else {}
    if user is None or password is None or "sasl.jaas.config" in own:
        return translated
    # librdkafka ignores these two under other mechanisms, so they are dropped here.
    module = _LOGIN_MODULES.get(mechanism or "")
    if module:
        login = f"{module} required username={_quoted(user)} password={_quoted(password)};"
        translated["sasl.jaas.config"] = login
    return translated


def _trust(rest: dict[str, str]) -> dict[str, str]:
    inline, place = rest.pop("ssl.ca.pem", None), rest.pop("ssl.ca.location", None)
    if inline:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": inline}
    if place and place != "probe":
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": place}
    return {}


def _identity(rest: dict[str, str]) -> dict[str, str]:
    if "ssl.keystore.location" in rest:  # to librdkafka always PKCS#12
        return {"ssl.keystore.type": "PKCS12"}
    certificate = rest.pop("ssl.certificate.location", None)
    key = rest.pop("ssl.key.location", None)
    if certificate is None or key is None:
        return {}
    text = _pem(key, "ssl.key.location")
    if "BEGIN PRIVATE KEY" not in text and "BEGIN ENCRYPTED PRIVATE KEY" not in text:
        raise KafkaOptionsError(
            f"{key} holds no PKCS#8 private key, the only kind that Kafka's Java client reads",
            option="ssl.key.location",
            hint="convert it with: openssl pkcs8 -topk8 -in KEY -out NEW.",
        )
    if certificate == key:
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": key}
    chain = _pem(certificate, "ssl.certificate.location")
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": text,
        "ssl.keystore.certificate.chain": chain,
    }


def _host_check(rest: dict[str, str], own: Mapping[str, str]) -> dict[str, str]:
    name = "enable.ssl.certificate.verification"
    verify = rest.pop(name, "true")
    if verify.lower() == "false" and "ssl.engine.factory.class" not in own:
        raise _untranslatable(name)
    if rest.get("ssl.endpoint.identification.algorithm") == "none":
        return {"ssl.endpoint.identification.algorithm": ""}
    return {}


def _pem(place: str, option: str) -> str:
    try:
        return Path(place).read_text(encoding="ascii", errors="replace")
    except OSError as exc:
        raise KafkaOptionsError(f"cannot read {option}: {exc}", option=option) from exc


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _untranslatable(name: str) -> KafkaOptionsError:
    return KafkaOptionsError(
        f"{name} has no counterpart in Kafka's Java client, which reads the topics",
        option=name,
        hint="give the Java client's own options in consumer=, such as sasl.jaas.config, and "
        "keep this one in producer=.",
    )
