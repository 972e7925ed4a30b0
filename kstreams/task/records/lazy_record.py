"""A record that decodes its value on first access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kstreams.record import Headers, Record

__all__ = ("LazyRecord",)

_NOT_YET: Final = object()


class LazyRecord(Record[Any, Any]):
    """A record with undecoded bytes, for example for a count that does not use values."""

    __slots__ = ("_data", "_decode", "_value")

    def __init__(
        self,
        key: Any,  # noqa: ANN401  # erased types
        data: bytes | None,
        timestamp: int,
        headers: Headers,
        decode: Callable[[bytes], Any],
    ) -> None:
        self.key = key  # type: ignore[misc]  # final in the base class
        self.timestamp = timestamp  # type: ignore[misc]  # as above
        self.headers = headers  # type: ignore[misc]  # as above
        self._data = data
        self._decode = decode
        self._value = None if data is None else _NOT_YET

    @property  # type: ignore[misc]  # final in the base
    def value(self) -> Any:  # noqa: ANN401  # erased types
        """The value, which is decoded on first access."""
        value = self._value
        if value is _NOT_YET:
            value = self._value = self._decode(self._data)  # type: ignore[arg-type]  # not null
        return value
