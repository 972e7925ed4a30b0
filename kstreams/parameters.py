"""Parameters that state depends on, as plain data that is recorded with the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum

__all__ = (
    "MAY_CHANGE",
    "Parameter",
    "Parameters",
    "changes",
    "fields_of",
    "parameters_of",
    "shown",
)

Parameter = str | int
"""The value of a parameter: a text or a number. Names of durations end in `_ms`."""

Parameters = Mapping[str, Parameter]
"""Parameters by name."""

MAY_CHANGE: Mapping[str, tuple[str, str]] = {
    "windows.grace_ms": (
        "windows close later; a window that has closed begins empty if it gets records again",
        "windows close earlier",
    ),
    "retention_ms": (
        "versions that were dropped already are not restored",
        "versions beyond the new retention are dropped",
    ),
    "ttl_ms": (
        "stored values keep their old expiry times",
        "stored values keep their old expiry times",
    ),
    "table.ttl_ms": (
        "rows that have expired already are not restored",
        "rows expire by the new ttl",
    ),
    "deduplicate.within_ms": (
        "ids that have expired already count as new",
        "ids expire by the new duration",
    ),
    "suppress.limit_ms": (
        "buffered records are released later",
        "buffered records are released earlier",
    ),
    "emit.interval_ms": (
        "buffered results are released by the old or the new interval",
        "buffered results are released by the old or the new interval",
    ),
}
"""The parameters whose change leaves stored rows valid: the effects of a higher and a lower value.

A change of any other parameter would misread the rows.
"""

_MILLISECOND = timedelta(milliseconds=1)


def parameters_of(role: str, value: object) -> dict[str, Parameter]:
    """Return the class and the fields of an object, as parameters that state depends on.

    Args:
        role: The prefix of the names: `windows` gives `windows` and `windows.size_ms`.
        value: A dataclass instance; its fields with `compare=True` and plain values are returned.
            For any other object, only the name of its class is returned.
    """
    own = fields_of(value)
    return {role: type(value).__name__, **{f"{role}.{name}": own[name] for name in own}}


def fields_of(value: object) -> dict[str, Parameter]:
    """Return the fields with `compare=True` and plain values of a dataclass instance, by name.

    The result is empty for any other object.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    wanted = (field.name for field in fields(value) if field.init and field.compare)
    return dict(item for name in wanted for item in _plain(name, getattr(value, name)))


def changes(old: Parameters, new: Parameters) -> Iterator[tuple[str, Parameter, Parameter]]:
    """Yield name, old and new value of each parameter that differs.

    Parameters that only one side has are skipped: an earlier version may not have recorded them.
    """
    for name in sorted({*old} & {*new}):
        if old[name] != new[name]:
            yield name, old[name], new[name]


def shown(name: str, value: object) -> str:
    """Return the value of a parameter as text; a duration as hours, minutes and seconds."""
    if name.endswith("_ms") and isinstance(value, int):
        return str(value * _MILLISECOND)
    return str(value)


def _plain(name: str, value: object) -> Iterator[tuple[str, Parameter]]:
    match value:
        case bool() | float() | None:
            yield name, str(value).lower()
        case Enum():
            yield name, value.name
        case str() | int():
            yield name, value
        case timedelta():
            yield f"{name}_ms", value // _MILLISECOND
        case date():
            yield name, value.isoformat()
        case _:
            return
