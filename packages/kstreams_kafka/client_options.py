"""Client options as an immutable mapping that never shows its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ("ClientOptions", "OptionValue", "is_java_only", "is_secret")

OptionValue = str | int | float | bool
"""The types that a user may give as an option's value."""

_SECRET = re.compile(
    r"(?i)passw|passphrase|pwd|secret|token|credential|assertion|jaas|user\.info|api.?key"
    r"|ssl\.keystore\.key|\.pem$|oauthbearer\.(config|extensions)|kinit\.cmd"
)
_PLAIN = re.compile(r"(?i)\.(location|file|ms|seconds|type|url)$")
_HIDDEN = "[redacted]"
_LEAST_CHARS = 4
"""The minimum length of a redacted part of a secret; redacting shorter parts would break texts."""

_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY = re.compile(r"(?<=[?#])\S+")


def is_secret(name: str) -> bool:
    """Return whether an option's value is a secret, by the option's name; file paths are not."""
    return bool(_SECRET.search(name)) and not _PLAIN.search(name)


class ClientOptions(Mapping[str, str]):
    """Options of a Kafka client by name, sorted, every value as text.

    Immutable, hashable, equal to any mapping of the same items. The text forms
    show a secret's name only; pickling and reading keep the value.
    """

    __slots__ = ("_items",)

    def __init__(self, options: Mapping[str, OptionValue] | None = None) -> None:
        self._items = {name: _as_text(value) for name, value in sorted((options or {}).items())}

    def __getitem__(self, name: str) -> str:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return repr({n: _HIDDEN if is_secret(n) else _shown(v) for n, v in self._items.items()})

    def scrub(self, text: str) -> str:
        """Return the text with every secret value of these options redacted.

        Parts of a secret value are redacted too, because librdkafka quotes the part that it cannot
        parse.
        """
        secrets = {part for name, value in self._items.items() for part in _secrets(name, value)}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def _shown(value: str) -> str:
    """Return the value of a non-secret option, without the login and the query of a URL."""
    if "://" not in value:
        return value
    return _QUERY.sub(_HIDDEN, _LOGIN.sub(f"{_HIDDEN}@", value))


def _secrets(name: str, value: str) -> set[str]:
    """Return the parts of an option's value that `scrub` redacts."""
    parts: set[str] = set()
    if "://" in value:
        parts.update(_LOGIN.findall(value), _QUERY.findall(value))
        parts.update(part for login in list(parts) for part in re.split("[:@&=]", login))
    elif is_secret(name) and ("=" in value or "\n" in value):  # settings, or a key's lines
        parts.update(value.split())
        parts.update(part.partition("=")[2] for part in list(parts))
    parts = {part for part in parts if len(part) >= _LEAST_CHARS}
    return {*parts, value} if value and is_secret(name) else parts


def _as_text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


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
    """Return whether an option exists only in the Java client, so that librdkafka rejects it."""
    return name.startswith(_JAVA_ONLY)
