"""Client options as an immutable mapping that never shows its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ("ClientOptions", "OptionValue", "is_secret")

OptionValue = str | int | float | bool
"""What a user may give as an option's value."""

_SECRET = re.compile(
    r"(?i)password|passphrase|secret|token|credential|assertion|jaas|user\.info"
    r"|ssl\.keystore\.key|\.pem$|oauthbearer\.config"
)
_PLAIN = re.compile(r"(?i)\.(location|file|ms|seconds|type)$")
_HIDDEN = "[redacted]"


def is_secret(name: str) -> bool:
    """Tell by an option's name whether its value is a secret; paths of secrets are not."""
    return bool(_SECRET.search(name)) and not _PLAIN.search(name)


class ClientOptions(Mapping[str, str]):
    """
    Options of a Kafka client by name, sorted, every value as text.

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
        return repr({n: _HIDDEN if is_secret(n) else v for n, v in self._items.items()})

    def scrub(self, text: str) -> str:
        """Return the text with every secret value of these options taken out."""
        secrets = {value for name, value in self._items.items() if value and is_secret(name)}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def _as_text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
