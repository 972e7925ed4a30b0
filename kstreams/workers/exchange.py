"""The exchange of records between workers: output of a stage becomes input of the next stage.

A run is one attempt at a batch.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import Envelope
from kstreams.workers.channel import Address, Channel, Listener, connect

__all__ = ("Exchange", "PeerLostError", "RunStage", "StageInput")

_HEAD = struct.Struct(">QIi?")
"""Run, receiving stage, sending worker (-1 before a message of records), and whether it refused."""
_RECORDS = -1
_CLOSED = (OSError, EOFError)
_CANCELED_RUNS = 1_000

RunStage = tuple[int, int]
"""The id of a run, and the number of the receiving stage."""


class PeerLostError(Exception):
    """Another worker cannot be reached.

    Attributes:
        worker: The number of the other worker.
    """

    def __init__(self, worker: int) -> None:
        super().__init__(worker)
        self.worker = worker


@dataclass
class StageInput:
    """The messages of one run to the tasks of one stage in one worker.

    Attributes:
        envelopes: Task calls, and records that are in memory.
        senders: The numbers of the workers that have sent all their records for the stage.
        refused: Whether a task of an earlier stage did not run because its input has too many
            bytes, so that this stage must not run.
        complete: Whether all workers of the run have sent all their records for the stage.
    """

    envelopes: list[Envelope] = field(default_factory=list)
    senders: set[int] = field(default_factory=set)
    refused: bool = False
    complete: bool = False
    _spilled: list[tuple[int, int]] = field(default_factory=list)
    _file: IO[bytes] | None = None

    def spill(self, payload: bytes) -> None:
        """Append a packed envelope to an unnamed temporary file, which ends with the process."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # see close
        self._spilled.append((self._file.seek(0, 2), len(payload)))
        self._file.write(payload)

    def close(self) -> None:
        """Close the file; envelopes from `all` stay valid."""
        if self._file is not None:
            self._file.close()

    def all(self) -> Iterable[Envelope]:
        """Yield all envelopes; spilled ones are views of the mapped file."""
        yield from self.envelopes
        if self._file is not None:
            self._file.flush()
            mapped = memoryview(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
            for at, size in self._spilled:
                yield Envelope.unpack(mapped[at : at + size])


class Exchange:
    """Sends records to tasks in other workers, and collects the records for this worker's tasks.

    Received records are in memory up to a limit, and in a file above it. So a receiver never stops
    reading, and a sender waits only for the receiver's disk.

    Args:
        address: The address to listen at: the path of a Unix socket, or a host and the port 0.
        secret: The secret of the workers.
        complete: Called, in any thread, with a run and a stage when all records of the stage have
            arrived.
        memory: The maximum bytes of records in memory.
    """

    def __init__(
        self, address: Address, secret: bytes, complete: Callable[[RunStage], None], *, memory: int
    ) -> None:
        self._secret = secret
        self._complete = complete
        self._memory = memory
        self._lock = threading.Lock()
        self._inputs: dict[RunStage, StageInput] = {}
        self._expected: dict[int, frozenset[int]] = {}
        self._canceled: dict[int, None] = {}
        self._held = 0
        self._peers: dict[Address, Channel] = {}
        self._listener = Listener(address, secret, self._serve)

    @property
    def address(self) -> Address:
        """The address of this worker for other workers."""
        return self._listener.address

    def close(self) -> None:
        """Close all connections."""
        self._listener.close()
        for channel in self._peers.values():
            channel.close()

    # ------------------------------------------------------------ a run of this worker

    def begin(self, run: int, senders: Iterable[int]) -> None:
        """Begin a run, which is one attempt at a batch.

        Args:
            run: The id of the run.
            senders: The numbers of the workers that must send their records before the input of a
                later stage is complete.
        """
        with self._lock:
            self._expected[run] = frozenset(senders)
            keys = [key for key in self._inputs if key[0] == run]
        for key in keys:
            self._check(key)

    def put(self, run: int, envelope: Envelope) -> None:
        """Add an envelope for a task of this worker.

        Args:
            run: The id of the run.
            envelope: A call, which stays in memory, or records. Dropped if the run has ended.
        """
        size = _size(envelope)
        with self._lock:
            if run in self._canceled:
                return
            found = self._inputs.setdefault((run, envelope.stage), StageInput())
            if size and self._held + size > self._memory:
                found.spill(envelope.pack())
            else:
                found.envelopes.append(envelope)
                self._held += size

    def take(self, run: int, stage: int) -> StageInput:
        """Remove and return the input of a stage of a run; empty if nothing has arrived."""
        with self._lock:
            found = self._inputs.pop((run, stage), None) or StageInput()
            self._held -= sum(_size(each) for each in found.envelopes)
            return found

    def end(self, run: int) -> None:
        """End a run; its later messages are dropped."""
        with self._lock:
            self._expected.pop(run, None)
            self._canceled[run] = None
            for key in [key for key in self._inputs if key[0] == run]:
                dropped = self._inputs.pop(key)
                dropped.close()
                self._held -= sum(_size(each) for each in dropped.envelopes)
            while len(self._canceled) > _CANCELED_RUNS:
                del self._canceled[next(iter(self._canceled))]

    # ------------------------------------------------------------ sending

    def send(self, peer: tuple[int, Address], run: int, envelope: Envelope) -> None:
        """Send records to a task of another worker.

        Raises:
            PeerLostError: The worker cannot be reached.
        """
        head = _HEAD.pack(run, envelope.stage, _RECORDS, False)
        self._to(peer, head, envelope.pack())

    def finish(
        self, peers: Mapping[int, Address], run: int, stage: int, *, own: int, refused: bool
    ) -> None:
        """Notify all workers of a run that this worker has sent all its records for a stage.

        The notification also goes to this worker itself.

        Args:
            peers: The addresses of the run's workers, by number.
            run: The id of the run.
            stage: The number of the receiving stage.
            own: The number of this worker.
            refused: Whether the receiving stage must not run, because the input of a task has too
                many bytes.

        Raises:
            PeerLostError: A worker cannot be reached.
        """
        for number, address in peers.items():
            if number != own:
                self._to((number, address), _HEAD.pack(run, stage, own, refused))
        self._finished((run, stage), own, refused=refused)

    def _to(self, peer: tuple[int, Address], *parts: bytes) -> None:
        number, address = peer
        try:
            if address not in self._peers:
                self._peers[address] = connect(address, self._secret)
            self._peers[address].send(*parts)
        except (*_CLOSED, ValueError) as exc:
            channel = self._peers.pop(address, None)
            if channel is not None:
                channel.close()
            raise PeerLostError(number) from exc

    # ------------------------------------------------------------ receiving

    def _serve(self, channel: Channel) -> None:
        """Receive the messages of another worker, in the thread of its connection."""
        with suppress(*_CLOSED):
            while True:
                run, stage, sender, refused = _HEAD.unpack(channel.receive())
                if sender == _RECORDS:
                    envelope = Envelope.unpack(channel.receive())
                    self.put(run, envelope)
                else:
                    self._finished((run, stage), sender, refused=refused)
        channel.close()

    def _finished(self, key: RunStage, sender: int, *, refused: bool) -> None:
        with self._lock:
            if key[0] in self._canceled:
                return
            found = self._inputs.setdefault(key, StageInput())
            found.senders.add(sender)
            found.refused = found.refused or refused
        self._check(key)

    def _check(self, key: RunStage) -> None:
        with self._lock:
            expected, found = self._expected.get(key[0]), self._inputs.get(key)
            if expected is None or found is None or found.complete or found.senders < expected:
                return
            found.complete = True
        self._complete(key)


def _size(envelope: Envelope) -> int:
    """Return the size of an envelope's records in bytes; 0 for other messages."""
    content = envelope.content
    return content.body.size if isinstance(content, EdgeRecords) else 0
