"""Channels: messages in order, from threads at the same time, and only with the secret."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from kstreams.workers import channel as channels
from kstreams.workers.channel import Address, Channel, Listener, connect, local_addresses

SECRET = b"the secret"


def send_pairs(channel: Channel, number: int) -> None:
    for _ in range(99):
        channel.send(b"%d" % number, b"%d" % number)


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    return str(tmp_path / "socket") if request.param == "unix" else ("127.0.0.1", 0)


class Server:
    """A listener that keeps its accepted channels."""

    def __init__(self, address: Address) -> None:
        self.accepted: queue.SimpleQueue[Channel] = queue.SimpleQueue()
        self.listener = Listener(address, SECRET, self.accepted.put)
        self.served: list[Channel] = []

    def accept(self) -> Channel:
        """Return the next accepted channel."""
        self.served.append(self.accepted.get(timeout=20))
        return self.served[-1]

    def close(self) -> None:
        self.listener.close()
        while not self.accepted.empty():
            self.accept()
        for channel in self.served:
            channel.close()


@pytest.fixture
def server(address: Address) -> Iterator[Server]:
    made = Server(address)
    with closing(made):
        yield made


def test_messages_arrive_in_order_and_unchanged(server: Server) -> None:
    with closing(connect(server.listener.address, SECRET)) as here:
        there = server.accept()
        sent = [b"", b"a", bytes(100_000), b"last"]
        sender = threading.Thread(target=here.send, args=sent)
        sender.start()
        assert [there.receive() for _ in sent] == sent
        sender.join()
        there.send(b"answer")
        assert here.receive() == b"answer"


def test_parts_of_one_send_stay_together(server: Server) -> None:
    with closing(connect(server.listener.address, SECRET)) as here:
        there = server.accept()
        threads = [threading.Thread(target=send_pairs, args=(here, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4 * 99):
            assert there.receive() == there.receive()
        for thread in threads:
            thread.join()


def test_wrong_secret_is_refused(server: Server) -> None:
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        connect(server.listener.address, b"another secret")
    assert server.accepted.empty()


def test_silent_connection_is_closed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "_AUTHENTICATION_S", 1)
    address = server.listener.address
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as silent:
        silent.connect(address)
        silent.settimeout(20)
        while silent.recv(1 << 16):  # the challenge, then the end
            pass
    with closing(connect(address, SECRET)):  # others are served meanwhile
        server.accept()


def test_close_ends_receive_of_both_ends(server: Server) -> None:
    here = connect(server.listener.address, SECRET)
    there = server.accept()
    ended = threading.Event()

    def receive() -> None:
        with pytest.raises((EOFError, OSError)):
            here.receive()
        ended.set()

    threading.Thread(target=receive).start()
    here.close()
    assert ended.wait(10)
    with pytest.raises((EOFError, OSError)):
        there.receive()


def test_closed_listener_refuses_connections(address: Address) -> None:
    server = Server(address)
    server.close()
    with pytest.raises(OSError, match=r"refused|No such file"):
        connect(server.listener.address, SECRET)


def test_local_addresses_in_folder_with_long_path_are_loopback_ports(tmp_path: Path) -> None:
    long = tmp_path / ("long-" * 20)
    assert local_addresses(long) == (("127.0.0.1", 0), "")
    short = Path("/tmp/s")
    assert local_addresses(short) == ("/tmp/s/d", "/tmp/s/w")
