"""The base class of serdes of windowed keys, whose encoding depends on the windows."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, TypeVar

from kstreams.parameters import Parameters, parameters_of, shown
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.windowed import Windowed

__all__ = ("WindowedKeySerde", "windowed_type", "windows_text", "without_grace")

T = TypeVar("T")
"""The type that the serde converts."""


class WindowedKeySerde(CompositeSerde[T]):
    """A serde of windowed keys.

    Args:
        format: The name of the format.
        key: The serde of the keys without windows.
        windows: The definition of the windows; None if it is not known.
    """

    type_token = Windowed

    def __init__(self, format: str, key: Serde[Any], windows: Any) -> None:  # noqa: A002, ANN401  # as its base, any kind
        super().__init__(format, key)
        self.windows = windows

    @property
    def inner(self) -> Serde[Any]:
        """The serde of the keys without windows."""
        return self.parts[0]

    def writes_windows_of(self, other: WindowedKeySerde[Any]) -> bool:
        """Return whether this serde writes the windows of another serde's keys unchanged.

        By default, the definitions of the windows must be equal except for their grace, which no
        encoding uses. Windows of a custom class without `__eq__` cannot be compared: any two of
        them count as equal.
        """
        one, two = self.windows, other.windows
        if type(self) is not type(other) or type(one) is not type(two):
            return False
        if is_dataclass(one):
            return one == two or without_grace(one) == without_grace(two)
        return bool(one == two) or not any(
            "__eq__" in vars(each) for each in type(one).__mro__[:-1]
        )


def windowed_type(serde: WindowedKeySerde[Any]) -> object:
    """Return the type of windowed keys with the type of the keys, if it is known."""
    kind: Any = Windowed
    inner = serde.inner.type_token
    return kind if inner is object else kind[inner]


def without_grace(windows: object) -> Parameters:
    """Return the parameters of windows except their grace."""
    own = parameters_of("windows", windows)
    return {name: value for name, value in own.items() if name != "windows.grace_ms"}


def windows_text(windows: object) -> str:
    """Return a definition of windows without its grace: `TumblingWindows(size=0:01:00)`."""
    fields = {
        name.removeprefix("windows."): value
        for name, value in without_grace(windows).items()
        if name != "windows"
    }
    texts = [f"{name.removesuffix('_ms')}={shown(name, fields[name])}" for name in fields]
    return f"{type(windows).__name__}({', '.join(texts)})"
