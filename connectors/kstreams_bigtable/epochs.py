"""Timestamps of a commit's cells, and fences that keep old commits from writing."""

from __future__ import annotations

from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_bigtable.sdk import types
from kstreams_bigtable.service import FAMILY, Service
from kstreams_rows.fence import lane_of

__all__ = ("base_of", "claim", "micros_of")

_REVISIONS = 8
"""The number of timestamps per batch, one per plan revision, in ms; batches take longer."""
_APART_MS = 60_000
"""The minimum time between the starts of two epochs, which tolerates clock differences."""
_SERVER_TIME = -1
_NOW, _ORDER = b"now", b"order"


def base_of(service: Service, fence: str, table: str, epoch: str) -> int:
    """Return the first timestamp of an epoch in a table, in ms; the same for all tasks.

    The first task that calls this sets the timestamp by the server's clock, later than the starts
    of all earlier epochs and all existing cells.

    Raises:
        SinkError: The table of fences was cleared in the meantime.
    """
    row, column = f"epochs/{table}".encode(), f"epoch/{epoch}".encode()
    for _ in range(3):
        known = service.cells(fence, row)
        if column in known:
            return int(known[column][1])
        service.mutate(fence, [(row, [_set(_NOW, b"", _SERVER_TIME)])])
        now_ms = service.cells(fence, row)[_NOW][0] // 1_000
        others = [int(value) for name, (_, value) in known.items() if name != _NOW]
        base = max([now_ms, *(each + _APART_MS for each in others)])
        there = types.RowFilter(column_qualifier_regex_filter=_exactly(column))
        service.unless(fence, row, there, [_set(column, b"%d" % base, 0)])
    raise SinkError(
        f"another client deleted the row of epoch {epoch!r} from the fence table {fence!r}",
        hint="let only the library write to that table, and restart the app.",
    )


def micros_of(base_ms: int, commit: CommitId) -> int:
    """Return the timestamp of a commit's cells, in microseconds.

    Args:
        base_ms: The result of `base_of` for the epoch of the commit.
        commit: The commit.
    """
    return (base_ms + _order(commit)) * 1_000


def claim(service: Service, fence: str, commit: CommitId) -> bool:
    """Move a task's fence to a commit; return False if a later commit has moved it already.

    Deletes need the fence because a delete leaves no timestamp to compare with.
    """
    row, order = lane_of(commit).encode(), _order(commit) * 1_000
    later = types.TimestampRange(start_timestamp_micros=order + 1_000)
    there = types.RowFilter(timestamp_range_filter=later)
    return not service.unless(fence, row, there, [_set(_ORDER, b"", order)])


def _order(commit: CommitId) -> int:
    return commit.batch * _REVISIONS + min(commit.revision, _REVISIONS - 1)


def _set(column: bytes, value: bytes, micros: int) -> types.Mutation:
    cell = types.Mutation.SetCell(
        family_name=FAMILY, column_qualifier=column, timestamp_micros=micros, value=value
    )
    return types.Mutation(set_cell=cell)


def _exactly(text: bytes) -> bytes:
    """Return a regular expression that matches exactly one text."""
    return b"".join(bytes([c]) if chr(c).isalnum() and c < 128 else b"\\x%02x" % c for c in text)
