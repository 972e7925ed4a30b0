"""Versions as requests name them, and times as answers do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from kstreams.quoting import repr_of
from kstreams.serve.parameters import Parameters
from kstreams.serve.problems import Problem

__all__ = ("as_of_in", "committed_at")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BATCH = re.compile(r"-1|[0-9]{1,18}")
_LONGEST_NAME = 255


def as_of_in(given: Parameters | Mapping[str, Any], name: str = "as_of") -> int | str | None:
    """Return the version that is asked for: a batch, or a savepoint's name; None is the newest.

    Raises:
        Problem: It is neither.
    """
    found = given.text(name) if isinstance(given, Parameters) else given.get(name)
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST_NAME:
        raise Problem(400, f"{name} is {repr_of(found, 40)}; expected a batch or a savepoint")
    return int(found) if _BATCH.fullmatch(found) else found


def committed_at(wall_ms: int | None) -> str | None:
    """Return a time in UTC, as ISO 8601 with milliseconds; one out of range as its number."""
    if wall_ms is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=wall_ms)
    except OverflowError:
        return f"@{wall_ms}"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
