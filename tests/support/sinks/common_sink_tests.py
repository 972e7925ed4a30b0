"""Common tests of all sinks, in addition to the test suite for sinks.

A connector's `test_traps.py` defines the sink for another address, the values that its destination
refuses, and the reads of the destination. `test_common_sink_tests.py` checks that each connector
has a `test_traps.py`.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from devtools.servers.cut_proxy import CutProxy
from devtools.servers.ports import free_ports
from kstreams.errors import SinkUnavailableError
from kstreams.sinks import CommitId, Sink
from tests.support.sinks.sink_writes import commit_of, given, write

__all__ = ("SECRET", "Address", "SinkTraps", "address_of")

Address = tuple[str, int]
"""Host and port."""

SECRET = "s3cr@t/of-tests"
"""A secret with characters that are encoded in URLs."""
_LONG, _SHORT = timedelta(seconds=60), timedelta(milliseconds=500)
_MOST_BYTES = 1 << 20


def address_of(url: str) -> Address:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def _lengths() -> Iterator[int]:
    """Yield the numbers of bytes after which a connection is lost:

    each of the first ones, then fewer and fewer.
    """
    count = 0
    while count < _MOST_BYTES:
        yield count
        count += max(1, count // 2)


class SinkTraps:
    """Base class of common sink tests; a subclass makes the sink.

    Attributes:
        bad: Values that the destination refuses, by their problem.
        keeps_last: Whether the destination has one value for each key, and None deletes a key.
        connections: Number of connections that a writer may open at once, all of which are lost.
        lengths: Numbers of bytes before a loss, up to one at which no connection is lost.
        at_least_once: Whether a lost connection may show a result twice.
    """

    bad: ClassVar[Mapping[str, object]]
    keeps_last: ClassVar[bool] = True
    connections: ClassVar[int] = 1
    lengths: ClassVar[Sequence[int]] = tuple(_lengths())
    at_least_once: ClassVar[bool] = False

    def address(self) -> Address:
        """Return the address of the real server."""
        raise NotImplementedError

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        """Return the sink for a server at another address."""
        raise NotImplementedError

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        """Return the sink with `SECRET` in all of its secret options."""
        raise NotImplementedError

    def seen(self) -> Iterable[tuple[str, Any]]:
        """Return the keys and numbers that the destination contains."""
        raise NotImplementedError

    def commit(self, batch: int = 0) -> CommitId:
        """Return a commit of an epoch for this test only."""
        return commit_of(batch, epoch=self._epoch)

    @pytest.fixture(autouse=True)
    def _epochs(self) -> None:
        self._epoch = uuid4().hex

    def test_values_refused_by_destination_affect_no_other_and_are_refused_at_retry(self) -> None:
        sink = self.sink(self.address(), give_up_after=_LONG)
        for batch, (what, value) in enumerate(self.bad.items()):
            pairs = ((f"a{batch}", 1), (f"b{batch}", value), (f"c{batch}", 3))
            refused = write(sink, given(*pairs), self.commit(batch))
            assert [row.row for row in refused] == [1], what
            assert refused[0].reason, what
            again = write(sink, given(*pairs), self.commit(batch))
            assert [(r.row, r.reason) for r in again] == [(r.row, r.reason) for r in refused], what
        expected = [
            (f"{key}{n}", v) for n in range(len(self.bad)) for key, v in (("a", 1), ("c", 3))
        ]
        assert sorted(self.seen()) == sorted(expected)

    def test_last_value_of_key_in_batch_is_written(self) -> None:
        if not self.keeps_last:
            pytest.skip("the destination keeps all results, not the last of each key")
        sink = self.sink(self.address(), give_up_after=_LONG)
        rows = (("a", 1), ("a", 2), ("b", 1), ("b", None), ("c", None), ("c", 3), ("d", None))
        assert write(sink, given(*rows), self.commit()) == []
        assert sorted(self.seen()) == [("a", 2), ("c", 3)]
        assert write(sink, given(("c", None), ("a", 4), ("b", 5)), self.commit(1)) == []
        assert sorted(self.seen()) == [("a", 4), ("b", 5)]

    def test_connection_lost_at_any_byte_of_a_reply_changes_nothing(self) -> None:
        batches = before = 0
        with CutProxy(self.address()) as proxy:
            sink = self.sink(("127.0.0.1", proxy.port), give_up_after=_LONG)
            sink.prepare()
            for batches, count in enumerate(self.lengths, 1):
                before = proxy.cuts
                proxy.cut_after(count, times=self.connections)
                results = given(("a", batches), (f"k{batches}", batches))
                with closing(sink.open()) as writer:
                    receipts = writer.write(results, self.commit(batches))
                if receipts:
                    sink.publish({self.commit(batches): receipts})
                assert results.refused == []
                if proxy.cuts == before:
                    break
            proxy.cut_after(0, times=0)
        assert proxy.cuts == before
        assert batches > 2
        expected = [("a", n) for n in range(1, batches + 1)] if not self.keeps_last else []
        expected += [("a", batches)] if self.keeps_last else []
        expected += [(f"k{n}", n) for n in range(1, batches + 1)]
        found = sorted(self.seen())
        assert sorted(set(found) if self.at_least_once else found) == sorted(expected)

    def test_unreachable_server_refuses_no_row(self) -> None:
        results = given(("a", 1), ("b", next(iter(self.bad.values()))))
        with CutProxy(self.address()) as proxy:
            sink = self.sink(("127.0.0.1", proxy.port), give_up_after=_SHORT)
            sink.prepare()
            with closing(sink.open()) as writer:
                receipts = writer.write(given(("a", 0)), self.commit(0))
            if receipts:
                sink.publish({self.commit(0): receipts})
        with closing(sink.open()) as writer, pytest.raises(SinkUnavailableError):
            writer.write(results, self.commit(1))
        assert all(row.row == 1 for row in results.refused)
        assert list(self.seen()) == [("a", 0)]

    def test_repr_and_errors_hide_secrets(self) -> None:
        (port,) = free_ports(1)
        sink = self.with_secret(("127.0.0.1", port), give_up_after=_SHORT)
        shown = [repr(sink), str(sink), sink.label]
        again = pickle.loads(pickle.dumps(sink))
        try:
            again.prepare()
        except SinkUnavailableError as exc:
            shown += ["".join(traceback.format_exception(exc)), repr(exc)]
        with closing(sink.open()) as writer, pytest.raises(SinkUnavailableError) as told:
            writer.write(given(("a", 1)), self.commit())
        shown += ["".join(traceback.format_exception(told.value)), repr(told.value)]
        for text in shown:
            assert "s3cr" not in text
