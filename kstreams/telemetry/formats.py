"""The common format of all telemetry files: JSON with a format number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kstreams.errors import CheckpointMismatchError, StateCorruptError
from kstreams.state.log.fields import Fields

__all__ = (
    "COUNTERS",
    "FAILURES",
    "FORMAT",
    "LIVE",
    "MINUTES",
    "TOPOLOGY",
    "damaged",
    "fields_of",
    "library_version",
    "to_bytes",
)

FORMAT = 1
"""The format number of the written files: the field `f` of each document and each line."""

LIVE, COUNTERS, TOPOLOGY = "live.json", "counters.json", "topology.json"
MINUTES, FAILURES = "minutes.jsonl", "failures.jsonl"


def to_bytes(content: Mapping[str, Any]) -> bytes:
    """Return a document or a line as JSON bytes, with the format number."""
    return json.dumps({"f": FORMAT, **content}, separators=(",", ":")).encode()


def fields_of(name: str, data: bytes) -> Fields:
    """Return the fields of a document or a line.

    Args:
        name: Name of the file, for errors.
        data: The bytes to parse.

    Raises:
        CheckpointMismatchError: A later version of the library has written the data.
        StateCorruptError: The data is not JSON, or not a document of this kind.
    """
    try:
        fields = Fields(json.loads(data))
        found = fields.integer("f")
    except (ValueError, RecursionError) as exc:
        raise damaged(name, exc) from exc
    if found > FORMAT:
        raise CheckpointMismatchError(
            f"telemetry file {name} is of format {found}, but this version of the library reads "
            f"formats up to {FORMAT}",
            hint="A later version of the library wrote the file: run that version.",
        )
    return fields


def damaged(name: str, problem: Exception) -> StateCorruptError:
    """Return the error for a damaged file."""
    return StateCorruptError(
        f"telemetry file {name} cannot be read: {problem}",
        hint="only monitoring uses this file: remove it, and the app writes it again.",
    )


@cache
def library_version() -> str:
    """Return the version of the installed library; `unknown` if it is not installed."""
    try:
        return version("kstreams-spark")
    except PackageNotFoundError:
        return "unknown"
