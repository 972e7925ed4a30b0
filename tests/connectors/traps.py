"""The traps that each sink has to pass, besides the suite of sinks: one table of sink by trap.

A connector's `test_traps.py` says how its sink is reached through another address, what its place
does not take, and how it is read. `test_traps_matrix.py` sees that none is left out.
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
from tests.connectors.sinking import commit_of, given, write

__all__ = ("SECRET", "Address", "SinkTraps", "address_of")

Address = tuple[str, int]
"""Host and port."""

SECRET = "s3cr@t/of-tests"
"""With characters that addresses have in another spelling."""
_LONG, _SHORT = timedelta(seconds=60), timedelta(milliseconds=500)
_MOST_BYTES = 1 << 20


def address_of(url: str) -> Address:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def _lengths() -> Iterator[int]:
    """Yield after how many bytes a connection is lost: each of the first, then ever fewer."""
    count = 0
    while count < _MOST_BYTES:
        yield count
        count += max(1, count // 2)


class SinkTraps:
    """Derive a test class, and say how its sink is made; a value is a number, or a bad one.

    Attributes:
        bad: Values that the place does not take, by what is wrong with them.
        keeps_last: Whether the place has one value of a key, and deletes by None.
        connections: How many a writer may open at once: so many are lost.
        lengths: After how many bytes; up to where none is lost any more.
        at_least_once: Whether a lost connection may show a result twice.
    """

    bad: ClassVar[Mapping[str, object]]
    keeps_last: ClassVar[bool] = True
    connections: ClassVar[int] = 1
    lengths: ClassVar[Sequence[int]] = tuple(_lengths())
    at_least_once: ClassVar[bool] = False

    def address(self) -> Address:
        """Return where the real server listens."""
        raise NotImplementedError

    def sink(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        """Make the sink, of a server at another address."""
        raise NotImplementedError

    def with_secret(self, address: Address, *, give_up_after: timedelta) -> Sink[str, Any]:
        """Make the sink with `SECRET` wherever it takes one."""
        raise NotImplementedError

    def seen(self) -> Iterable[tuple[str, Any]]:
        """Return keys and numbers in the place."""
        raise NotImplementedError

    def commit(self, batch: int = 0) -> CommitId:
        """Return a commit of a life that the test has alone."""
        return commit_of(batch, life=self._life)

    @pytest.fixture(autouse=True)
    def _lives(self) -> None:
        self._life = uuid4().hex

    def test_what_the_place_does_not_take_is_refused_alone_and_again(self) -> None:
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

    def test_the_last_word_of_a_key_counts_in_a_batch(self) -> None:
        if not self.keeps_last:
            pytest.skip("the place has each result")
        sink = self.sink(self.address(), give_up_after=_LONG)
        rows = (("a", 1), ("a", 2), ("b", 1), ("b", None), ("c", None), ("c", 3), ("d", None))
        assert write(sink, given(*rows), self.commit()) == []
        assert sorted(self.seen()) == [("a", 2), ("c", 3)]
        assert write(sink, given(("c", None), ("a", 4), ("b", 5)), self.commit(1)) == []
        assert sorted(self.seen()) == [("a", 4), ("b", 5)]

    def test_a_connection_lost_at_any_byte_of_an_answer_changes_nothing(self) -> None:
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

    def test_a_server_that_is_gone_is_no_rows_fault(self) -> None:
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

    def test_no_text_shows_a_secret(self) -> None:
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
