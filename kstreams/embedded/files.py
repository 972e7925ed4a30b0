"""Conversion of file system errors of topics to errors of the library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kstreams.errors import ExecutionError, Where

__all__ = ("explained",)


@contextmanager
def explained(doing: str, *, topic: str, partition: int | None = None) -> Iterator[None]:
    """Convert an `OSError` to an `ExecutionError` with the topic and partition.

    `doing` is the failed operation, a verb for the message `cannot <doing>`.
    """
    try:
        yield
    except OSError as exc:
        raise ExecutionError(
            f"cannot {doing}: {exc.strerror or exc} ({exc.filename})",
            hint="Check that the disk has free space and that this user may write to the root of "
            "the topics.",
            where=Where(topic=topic, partition=partition),
        ) from exc
