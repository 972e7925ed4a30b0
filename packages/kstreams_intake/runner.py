"""The runner, which writes messages of an intake to a topic and then settles them."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kstreams.batch.signals import stopping_on_signals
from kstreams.clock import Clock, SystemClock
from kstreams.connection import Connection
from kstreams.errors import IntakeUnavailableError, KStreamsError
from kstreams.options import checks_options
from kstreams.processors.on_error import DeadLetter, dead_letter_topic
from kstreams.topic import Topic
from kstreams_intake.appending import Appender
from kstreams_intake.contract import Delivery, Intake, LastMessage, Receiver
from kstreams_intake.known_ids import read_end
from kstreams_intake.patience import Patience
from kstreams_intake.report import IntakeReport
from kstreams_intake.taking import NotWritten, OnRefusal, Rules, Taking

__all__ = ("IntakeRunner",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_WAIT = timedelta(milliseconds=100)


class IntakeRunner:
    """Writes the messages of an intake durably to a topic before it settles them.

    The process may be killed at any time: settled messages are in the topic; the source delivers
    unsettled messages again, and the runner recognizes messages in the topic by their ids. With
    ids, each message is in the topic exactly once, if it is not delivered again after `remember`
    other messages, one process at a time runs the intake, and ids are unique in the source. Without
    ids, each message is in the topic at least once. For stronger guarantees, use
    `deduplicate(by_header(MESSAGE_ID), ...)` in the topology.

    Memory holds one batch and `remember` ids of each partition; the intake bounds its own buffers.
    Messages of a batch are written in the order of their arrival.

    Args:
        intake: The source.
        topic: The topic; values are written unchanged, if its serdes can read them.
        connection: The connection of the topic.
        on_error: The policy for a message that the serdes of the topic cannot read, that the topic
            rejects, or that `complete` fails for. By default `reject` if the sender gets the
            rejection, and otherwise `fail`.
        complete: Returns a delivery with key, id or time, for example from fields of its value; it
            raises an error for a message that is invalid. Runs in this process.
        remember: The number of records at the end of each partition to read at the start, for the
            ids of repeated messages.
        batch: The maximum number of messages in one write.
        give_up_after: The maximum time of retries while source or topic do not answer.
        on_report: Called with the report after each batch, and while no messages arrive.
        clock: The clock for messages without a time.

    Raises:
        ValueError: A number or a time is not positive.

    Source: Kafka Connect's source tasks, which write, then `commitRecord`; ids and dead letters are
    additions.
    """

    @checks_options
    def __init__(
        self,
        intake: Intake,
        topic: Topic[Any, Any],
        connection: Connection,
        *,
        on_error: OnRefusal | None = None,
        complete: Callable[[Delivery], Delivery] | None = None,
        remember: int = 10_000,
        batch: int = 500,
        give_up_after: timedelta = timedelta(minutes=5),
        on_report: Callable[[IntakeReport], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if remember < 0 or batch < 1 or give_up_after < timedelta(0):
            raise ValueError(
                f"remember={remember}, give_up_after={give_up_after}, batch={batch}: expected "
                "remember and give_up_after of 0 or more, and batch of 1 or more"
            )
        self._intake = intake
        self._topic = topic
        self._connection = connection
        self._rules = Rules(
            intake.name,
            topic.name,
            on_error or ("reject" if intake.tells_sender else "fail"),
            complete,
            clock or SystemClock(),
        )
        self._remember = remember
        self._batch = batch
        self._source = Patience(give_up_after)
        self._writing = Patience(give_up_after)
        self._on_report = on_report
        self._stop = threading.Event()
        self._counts: Counter[str] = Counter()
        self._report = IntakeReport()

    @property
    def report(self) -> IntakeReport:
        """The report since the creation of the runner."""
        return self._report

    def stop(self) -> None:
        """Make `run` return after the current batch; may be called from any thread."""
        self._stop.set()

    def run(self, *, timeout: timedelta | None = None) -> IntakeReport:
        """Write messages until `stop`, SIGTERM or Ctrl-C, then give back unsettled messages.

        Args:
            timeout: Stop after this time.

        Raises:
            IntakeError: The source is unsuitable for the intake.
            UnknownTopicError: A topic does not exist, and the connection does not create topics.
            KStreamsError: Source or topic did not answer for `give_up_after`; or a message was
                rejected with the policy `fail`.
        """
        end = None if timeout is None else time.monotonic() + timeout.total_seconds()
        restore = stopping_on_signals(self._stop)
        policy, topic = self._rules.on_error, self._topic
        letters = dead_letter_topic(policy) if isinstance(policy, DeadLetter) else None
        try:
            with closing(Appender(topic, self._connection, letters)) as appender:
                found = read_end(
                    self._connection,
                    topic.name,
                    self._intake.name,
                    self._remember,
                    self._rules.clock.now_ms(),
                )
                receiver = self._opened(found.last)
                if receiver is not None:
                    taking = Taking(self._rules, receiver, appender, found, self._counts)
                    self._take_until(end, taking)
        finally:
            restore()
        return self._report

    def _opened(self, last: LastMessage | None) -> Receiver | None:
        while not self._stop.is_set():
            try:
                found = self._intake.open(last)
            except IntakeUnavailableError as exc:
                self._pause(self._source, exc)
            else:
                return found
        return None

    def _take_until(self, end: float | None, taking: Taking) -> None:
        receiver = taking.receiver
        try:
            with receiver:
                while not self._stop.is_set() and (end is None or time.monotonic() < end):
                    self._step(taking)
                    self._send_report(receiver)
        finally:
            self._send_report(receiver)

    def _step(self, taking: Taking) -> None:
        try:
            deliveries = taking.receiver.receive(self._batch, _WAIT)
            self._source.renew()
            if deliveries:
                taking.take(deliveries)
                self._writing.renew()
        except IntakeUnavailableError as exc:
            self._pause(self._source, exc)
        except NotWritten as exc:
            cause = exc.__cause__
            self._pause(self._writing, cause if isinstance(cause, KStreamsError) else exc)

    def _pause(self, patience: Patience, error: KStreamsError) -> None:
        pause = patience.pause(error)
        _LOG.warning("intake %s waits %.1f s: %s", self._intake.name, pause, error)
        self._stop.wait(pause)

    def _send_report(self, receiver: Receiver) -> None:
        self._report = replace(IntakeReport(), **self._counts, gaps=receiver.gaps)
        if self._on_report is not None:
            self._on_report(self._report)
