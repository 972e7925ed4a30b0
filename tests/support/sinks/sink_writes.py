"""Helpers for tests of sinks: results, commits, writes and lost connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from kstreams import Record
from kstreams.sinks import CommitId, RefusedRow, Sink
from kstreams_testing.sink import GivenResults

__all__ = ("CutConnection", "commit_of", "given", "write")


def given(*pairs: tuple[Any, Any], fails: bool = False) -> GivenResults:
    """Return results of pairs of key and value."""
    records = [Record(key, value, 1_000 + n) for n, (key, value) in enumerate(pairs)]
    return GivenResults(records, fails)


def commit_of(batch: int = 0, *, task: int = 0, revision: int = 0, life: str = "life") -> CommitId:
    """Return a commit of an epoch."""
    return CommitId(life, "out", task, batch, revision)


def write(
    sink: Sink[Any, Any], results: GivenResults, commit: CommitId | None = None
) -> Sequence[RefusedRow]:
    """Write results as a batch, and publish them; return the refused rows."""
    sink.prepare()
    named = commit or commit_of()
    with closing(sink.open()) as writer:
        receipts = writer.write(results, named)
    if receipts:
        sink.publish({named: receipts})
    return results.refused


class CutConnection:
    """Loses the connection at one call of a client, once: either the request or the reply.

    Args:
        patch: Undoes the replacement.
        owner: Class of the client.
        name: The method by which the client sends a request.
        lost: The error of the client.
        nth: Number of the call, from 0.
        answered: Whether the server executes the request.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        owner: type,
        name: str,
        lost: Exception,
        *,
        nth: int,
        answered: bool,
    ) -> None:
        self.struck = False
        self._left = nth
        real = getattr(owner, name)

        def call(own: Any, *args: Any, **named: Any) -> Any:
            self._left -= 1
            strikes = self._left == -1
            self.struck = self.struck or strikes
            if strikes and not answered:
                raise lost
            done = real(own, *args, **named)
            if strikes:
                raise lost
            return done

        patch.setattr(owner, name, call)

    @staticmethod
    def moments(most: int) -> Iterator[tuple[int, bool]]:
        """Yield each call, with a lost request and with a lost reply."""
        return ((nth, answered) for nth in range(most) for answered in (False, True))
