"""The parameters of requests that select a version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.checkpoint.savepoint.savepoints import is_savepoint_name
from kstreams.quoting import repr_of
from kstreams.state.log.fields import MOST
from kstreams_admin.moments import ms_of
from kstreams_serve.problems import Problem

__all__ = ("NEWEST", "AsOf", "as_of_in")

_BATCH = re.compile(r"-1|[0-9]{1,18}")
_LONGEST_NAME = 255


@dataclass(frozen=True)
class AsOf:
    """The requested version; by default the newest.

    Attributes:
        version: A batch, or the name of a savepoint.
        at_ms: Selects the version that was the newest at this time, ms since the epoch by the app's
            clock.
        least: Selects the newest version, once this batch is committed.
    """

    version: int | str | None = None
    at_ms: int | None = None
    least: int | None = None

    def __post_init__(self) -> None:
        """Check that at most one attribute is set."""
        if sum(part is not None for part in (self.version, self.at_ms, self.least)) > 1:
            raise Problem(400, "several of as_of, at and min_version are given: give one of them")


NEWEST = AsOf()
"""The newest version."""


def as_of_in(given: Mapping[str, Any], name: str = "as_of") -> AsOf:
    """Return the requested version, from query parameters or the fields of a body.

    Args:
        given: The parameters; numbers are ints or texts.
        name: The name of the parameter with a batch or a savepoint.

    Raises:
        Problem: The parameters are invalid.
    """
    return AsOf(_version(given, name), _time(given), _least(given))


def _version(given: Mapping[str, Any], name: str) -> int | str | None:
    found = given.get(name)
    if found is None or _is_batch(found, -1):
        return found
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST_NAME:
        raise Problem(
            400,
            f"{name} is {repr_of(found, 40)}; expected a batch number or the name of a savepoint",
        )
    if _BATCH.fullmatch(found):
        return int(found)
    if not is_savepoint_name(found):
        raise Problem(400, f"{name} is {repr_of(found, 40)}: a savepoint cannot have this name")
    return found


def _time(given: Mapping[str, Any]) -> int | None:
    found = given.get("at")
    if found is None:
        return None
    try:
        if not isinstance(found, str):
            raise ValueError  # noqa: TRY004, TRY301  # as below
        return ms_of(found)
    except ValueError as exc:
        raise Problem(
            400, f"at is {repr_of(found, 40)}; expected a time such as 2026-11-22T05:00:00Z"
        ) from exc


def _least(given: Mapping[str, Any]) -> int | None:
    found = given.get("min_version")
    number = int(found) if isinstance(found, str) and _BATCH.fullmatch(found) else found
    if number is None or (_is_batch(number, 0) and isinstance(number, int)):
        return number
    raise Problem(400, f"min_version is {repr_of(found, 40)}; expected a batch number")


def _is_batch(found: object, least: int) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and least <= found <= MOST
