"""The exchange: every record reaches its stage once, and a stage is complete after all senders."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import Envelope
from kstreams.workers.exchange import Exchange, PeerLostError, RunStage

SECRET = b"s"
RUN, STAGE = 7, 1


class Peers:
    """Exchanges of several workers, and the stages that are complete in each."""

    def __init__(self, folder: Path, count: int, memory: int = 1 << 20) -> None:
        self.complete: list[queue.SimpleQueue[RunStage]] = [
            queue.SimpleQueue() for _ in range(count)
        ]
        self.exchanges = [
            Exchange(str(folder / f"{number}"), SECRET, self.complete[number].put, memory=memory)
            for number in range(count)
        ]
        self.addresses = {n: each.address for n, each in enumerate(self.exchanges)}

    def close(self) -> None:
        for each in self.exchanges:
            each.close()

    def begin(self) -> None:
        for each in self.exchanges:
            each.begin(RUN, self.addresses)

    def send(self, sender: int, receiver: int, text: str) -> None:
        exchange, envelope = self.exchanges[sender], records(receiver, text)
        if sender == receiver:
            exchange.put(RUN, envelope)
        else:
            exchange.send((receiver, self.addresses[receiver]), RUN, envelope)

    def finish(self, sender: int, *, refused: bool = False) -> None:
        self.exchanges[sender].finish(self.addresses, RUN, STAGE, own=sender, refused=refused)

    def texts(self, number: int) -> list[str]:
        with closing(self.exchanges[number].take(RUN, STAGE)) as found:
            contents = [each.content for each in found.all()]
        return sorted(bytes(c.body).decode() for c in contents if isinstance(c, EdgeRecords))


def records(task: int, text: str) -> Envelope:
    return Envelope(STAGE, task, EdgeRecords("in", "edge", 0, pa.py_buffer(text.encode())))


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[Peers]:
    with closing(Peers(tmp_path, 3)) as made:
        yield made


def test_stage_is_complete_when_all_workers_have_finished(peers: Peers) -> None:
    peers.begin()
    for sender in range(3):
        for receiver in range(3):
            peers.send(sender, receiver, f"{sender} to {receiver}")
    peers.finish(0)
    peers.finish(1)
    assert all(each.empty() for each in peers.complete)
    peers.finish(2)
    for number in range(3):
        assert peers.complete[number].get(timeout=10) == (RUN, STAGE)
        assert peers.texts(number) == [f"{sender} to {number}" for sender in range(3)]
        assert peers.complete[number].empty()


def test_records_may_arrive_before_the_run_begins(peers: Peers) -> None:
    for sender in range(3):
        peers.send(sender, 0, f"from {sender}")
        peers.finish(sender)
    peers.begin()
    assert peers.complete[0].get(timeout=10) == (RUN, STAGE)
    assert peers.texts(0) == ["from 0", "from 1", "from 2"]


def test_records_above_the_memory_limit_are_kept_in_a_file(tmp_path: Path) -> None:
    with closing(Peers(tmp_path, 2, memory=1_000)) as peers:
        peers.begin()
        sent = [f"{number:04}" * 100 for number in range(20)]
        for number, text in enumerate(sent):
            peers.send(number % 2, 0, text)
        peers.finish(0)
        peers.finish(1)
        assert peers.complete[0].get(timeout=10) == (RUN, STAGE)
        held = peers.exchanges[0]._held
        assert 0 < held <= 1_000
        assert peers.texts(0) == sorted(sent)
        assert peers.exchanges[0]._held == 0


def test_batch_refused_by_one_worker_is_refused_by_all_workers(peers: Peers) -> None:
    peers.begin()
    for sender in range(3):
        peers.finish(sender, refused=sender == 1)
    for number in range(3):
        assert peers.complete[number].get(timeout=10) == (RUN, STAGE)
        assert peers.exchanges[number].take(RUN, STAGE).refused


def test_records_of_an_ended_run_are_dropped(peers: Peers) -> None:
    peers.begin()
    peers.send(0, 0, "before")
    peers.exchanges[0].end(RUN)
    peers.send(1, 0, "after")
    for sender in range(3):
        peers.finish(sender)
    assert peers.complete[1].get(timeout=10) == (RUN, STAGE)
    assert peers.complete[0].empty()
    assert peers.exchanges[0]._held == 0
    assert peers.texts(0) == []


def test_lost_worker_is_named(peers: Peers) -> None:
    peers.begin()
    peers.exchanges[2].close()
    with pytest.raises(PeerLostError) as caught:
        peers.send(0, 2, "to nobody")
    assert caught.value.worker == 2
