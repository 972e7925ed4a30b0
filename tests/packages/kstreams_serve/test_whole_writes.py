"""Data written to a connection leaves in as few pieces as possible, complete and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kstreams_serve.whole_writes import WholeWrites


class _Inner(asyncio.Transport):
    """A transport that keeps its data."""

    def __init__(self, unsent: int = 0) -> None:
        super().__init__()
        self.said: list[bytes | str] = []
        self.unsent = unsent

    def write(self, data: Any) -> None:
        self.said.append(bytes(data))

    def is_closing(self) -> bool:
        return "close" in self.said

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def close(self) -> None:
        self.said.append("close")

    def abort(self) -> None:
        self.said.append("abort")


def _sent(act: Callable[[WholeWrites], None]) -> list[bytes | str]:
    """Return the data sent after the next turn of the event loop."""

    async def run() -> list[bytes | str]:
        inner = _Inner()
        act(WholeWrites(inner, asyncio.get_running_loop(), 1.0))
        await asyncio.sleep(0)
        return inner.said

    return asyncio.run(run())


def _each(*written: bytes) -> Callable[[WholeWrites], None]:
    def act(transport: WholeWrites) -> None:
        for data in written:
            transport.write(data)

    return act


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param((b"head ", b"body"), [b"head body"], id="a head with its body"),
        pytest.param((b"head ",), [b"head "], id="a head alone"),
        pytest.param((b"head ", b""), [b"head "], id="no body"),
        pytest.param((b"", b""), [], id="nothing"),
        pytest.param((b"a", b"b", b"c", b"d"), [b"ab", b"cd"], id="a stream"),
    ],
)
def test_writes_of_one_event_loop_iteration_are_sent_together(
    written: tuple[bytes, ...], expected: list[bytes]
) -> None:
    assert _sent(_each(*written)) == expected


def test_response_head_is_sent_before_a_later_body() -> None:
    """A follower gets the response head before the first event."""

    async def run() -> list[bytes | str]:
        inner = _Inner()
        transport = WholeWrites(inner, asyncio.get_running_loop(), 1.0)
        transport.write(b"head")
        await asyncio.sleep(0)
        before = list(inner.said)
        transport.write(b"event")
        await asyncio.sleep(0)
        return [*before, "then", *inner.said]

    assert asyncio.run(run()) == [b"head", "then", b"head", b"event"]


def test_close_sends_buffered_data() -> None:
    def act(transport: WholeWrites) -> None:
        transport.write(b"head")
        transport.close()

    assert _sent(act) == [b"head", "close"]


def test_abort_discards_buffered_data() -> None:
    def act(transport: WholeWrites) -> None:
        transport.write(b"head")
        transport.abort()

    assert _sent(act) == ["abort"]


@pytest.mark.parametrize(("unsent", "expected"), [(0, ["close"]), (5, ["close", "abort"])])
def test_close_aborts_connection_after_timeout_if_client_reads_nothing(
    unsent: int, expected: list[bytes | str]
) -> None:
    async def run() -> list[bytes | str]:
        inner = _Inner(unsent)
        transport = WholeWrites(inner, asyncio.get_running_loop(), 0.01)
        transport.close()
        transport.close()
        await asyncio.sleep(0.05)
        return inner.said

    assert asyncio.run(run()) == expected


@pytest.mark.parametrize("written", [(b"head", b""), (b"", b"head", b"", b""), (b"", b"")])
def test_empty_parts_are_not_passed_to_the_transport(written: tuple[bytes, ...]) -> None:
    passed: list[bytes] = []

    class Parts(_Inner):
        def writelines(self, list_of_data: Iterable[Any]) -> None:
            passed.extend(bytes(data) for data in list_of_data)

    async def run() -> None:
        transport = WholeWrites(Parts(), asyncio.get_running_loop(), 1.0)
        _each(*written)(transport)
        transport.writelines([b"", *written])
        await asyncio.sleep(0)

    asyncio.run(run())

    assert passed == 2 * [data for data in written if data]
