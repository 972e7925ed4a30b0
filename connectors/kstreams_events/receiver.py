"""A receiver of messages from a connection, with reconnection."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta

from typing_extensions import override

from kstreams.errors import IntakeUnavailableError, KStreamsError
from kstreams.intakes import Delivery, Gaps, LastMessage, Receiver
from kstreams_events.line import Line, Message

__all__ = ("StreamReceiver",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_CLOSE_S = 5.0


class StreamReceiver(Receiver):
    """Reads one connection in a thread, into a bounded buffer; when it is full, the server waits.

    Messages that are given back are kept and delivered again. Rejected messages are dropped,
    because the protocol cannot report a rejection to the server.

    Args:
        name: The name of the intake, for the log.
        connect: Connects and resumes after an id.
        resumes: Whether the server can resume.
        prefetch: The maximum number of messages in memory.
        pause: The time to wait before reconnecting after the server has closed a connection.
        last: The last message in the topic.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[str | None], Line],
        *,
        resumes: bool,
        prefetch: int,
        pause: timedelta,
        last: LastMessage | None,
    ) -> None:
        self._name = name
        self._connect = connect
        self._resumes = resumes
        self._pause_s = pause.total_seconds()
        self._last_id = None if last is None else last.id
        self._lost_at = None if last is None else time.monotonic() - last.age.total_seconds()
        self._due = 0.0
        self._gaps = Gaps()
        self._receipts = 0
        self._open: dict[int, Delivery] = {}
        self._again: deque[Delivery] = deque()
        self._prefetch = prefetch
        self._reader: _Reader | None = None
        self._connected()

    @property
    def gaps(self) -> Gaps:
        """The number and length of disconnections during which messages may have been lost."""
        return self._gaps

    @override
    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        if self._again:
            found = [self._again.popleft() for _ in range(min(limit, len(self._again)))]
            self._open |= {each.receipt: each for each in found}
            return found
        reader = self._reader or self._connected()
        if reader is None:
            time.sleep(min(wait.total_seconds(), max(0.0, self._due - time.monotonic())))
            return []
        came = reader.taken(limit, wait.total_seconds())
        if not came and reader.ended:
            self._lose(reader)
        return [self._delivery(message) for message in came]

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Drop settled messages; the topic has the id after which to resume."""
        for each in deliveries:
            self._open.pop(each.receipt, None)

    def reject(self, delivery: Delivery, reason: str) -> None:
        """Drop the message."""
        self.settle([delivery])

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Keep the messages for the next `receive`."""
        kept = [self._open.pop(each.receipt) for each in deliveries if each.receipt in self._open]
        self._again.extend(kept)

    @override
    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _delivery(self, message: Message) -> Delivery:
        self._receipts += 1
        self._last_id = message.id if message.id is not None else self._last_id
        found = Delivery(message.value, self._receipts, message.id, headers=message.headers)
        self._open[self._receipts] = found
        return found

    def _connected(self) -> _Reader | None:
        if time.monotonic() < self._due:
            return None
        self._reader = _Reader(self._connect(self._last_id), self._prefetch)
        if self._lost_at is not None:
            seconds = max(0.0, time.monotonic() - self._lost_at)
            if not self._resumes or self._last_id is None:
                self._gaps = Gaps(self._gaps.count + 1, self._gaps.seconds + seconds)
                _LOG.warning(
                    "intake %s: a gap of %.1f s; messages may have been lost",
                    self._name,
                    seconds,
                )
        self._lost_at = None
        return self._reader

    def _lose(self, reader: _Reader) -> None:
        reader.close()
        now = time.monotonic()
        self._reader, self._lost_at, self._due = None, now, now + self._pause_s
        if reader.failure is not None:
            self._due = now  # the runner pauses
            raise reader.failure


class _Reader:
    """A thread that reads one connection."""

    def __init__(self, line: Line, most: int) -> None:
        self.failure: KStreamsError | None = None
        self._line = line
        self._most = most
        self._inbox: deque[Message] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="kstreams-events", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether the thread will deliver no more messages."""
        with self._changed:
            return self._ended and not self._inbox

    def taken(self, limit: int, wait_s: float) -> list[Message]:
        with self._changed:
            self._changed.wait_for(lambda: self._inbox or self._ended, wait_s)
            found = [self._inbox.popleft() for _ in range(min(limit, len(self._inbox)))]
            self._changed.notify_all()
        return found

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._line.close()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        try:
            for message in self._line.messages():
                with self._changed:
                    self._changed.wait_for(lambda: len(self._inbox) < self._most or self._closed)
                    if self._closed:
                        break
                    self._inbox.append(message)
                    self._changed.notify_all()
        except KStreamsError as exc:
            self.failure = exc
        except Exception as exc:  # noqa: BLE001  # a bug in the client; the next receive raises it
            self.failure = IntakeUnavailableError(
                f"the connection to the server was lost: {type(exc).__name__}"
            )
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
