"""The test suite for intakes."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from tempfile import TemporaryDirectory
from unittest import SkipTest

from kstreams.embedded.connection import Embedded
from kstreams.serde.text import BYTES
from kstreams.topic import Topic
from kstreams_intake.contract import Delivery, Gaps, Intake, LastMessage, Receiver
from kstreams_intake.runner import IntakeRunner

__all__ = ("IntakeContract",)

_TOPIC = Topic("taken", key=BYTES, value=BYTES, null_keys="pass")
_WAIT = timedelta(milliseconds=50)
_SOON = timedelta(milliseconds=10)


class _Killed(BaseException):
    """Simulates that the process is killed."""


class IntakeContract:
    """Derive a test class that implements `make` and `send`; pytest finds the tests.

    Example:
        class TestMine(IntakeContract):
            def make(self) -> Intake:
                return MyQueue("orders")

            def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
                for identity, value in messages:
                    put_into_queue("orders", value, identity)

    Attributes:
        patience: The maximum time until a message is delivered, or redelivered.
        has_ids: Whether messages have ids.
        comes_again: Whether the source redelivers unsettled messages.
        resumes: Whether the source resumes after the last message in the topic.
        secret: A text that must not appear in logs and errors.
    """

    patience: timedelta = timedelta(seconds=20)
    has_ids = True
    comes_again = True
    resumes = False
    secret: str = ""

    def make(self) -> Intake:
        """Create the intake. A test calls this repeatedly, for a source that only it uses."""
        raise NotImplementedError("override make(), which creates the intake of the test")

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Send messages (ids and values) to the source in order, without waiting for delivery."""
        raise NotImplementedError("override send(), which sends messages to the source")

    def test_what_is_sent_comes_in_order_with_its_id(self) -> None:
        sent = [(f"id-{number}", f"value {number}".encode()) for number in range(5)]
        with self.make().open(None) as receiver:
            self.send(sent)
            found = self._settled(receiver, len(sent))
        assert [each.value for each in found] == [value for _, value in sent]
        assert not self.has_ids or [each.id for each in found] == [known for known, _ in sent]

    def test_bytes_come_as_they_were(self) -> None:
        with self.make().open(None) as receiver:
            self.send([("a", "größer\n\t\u2028".encode())])
            (found,) = self._settled(receiver, 1)
        assert found.value == "größer\n\t\u2028".encode()

    def test_no_more_come_than_were_asked_for(self) -> None:
        with self.make().open(None) as receiver:
            self.send([("a", b"1"), ("b", b"2"), ("c", b"3")])
            assert len(self._settled(receiver, 3, at_most=1)) == 3

    def test_nothing_is_waited_for_no_longer_than_said(self) -> None:
        with self.make().open(None) as receiver:
            began = time.monotonic()
            assert list(receiver.receive(10, _SOON)) == []
            assert time.monotonic() - began < self.patience.total_seconds()

    def test_what_is_settled_does_not_come_again(self) -> None:
        with self.make().open(None) as receiver:
            self.send([("a", b"1")])
            self._settled(receiver, 1)
        with self.make().open(LastMessage("a", timedelta(0))) as receiver:
            self.send([("b", b"2")])
            assert [each.value for each in self._settled(receiver, 1)] == [b"2"]

    def test_what_is_not_settled_comes_again(self) -> None:
        self._needs_again()
        with self.make().open(None) as receiver:
            self.send([("a", b"1")])
            first = self._received(receiver)
        with self.make().open(None) as receiver:
            (again,) = self._settled(receiver, 1)
        assert replace(again, receipt=0) == replace(first, receipt=0)

    def test_what_is_given_back_comes_again(self) -> None:
        self._needs_again()
        with self.make().open(None) as receiver:
            self.send([("a", b"1")])
            first = self._received(receiver)
            receiver.give_back([first])
            (again,) = self._settled(receiver, 1)
        assert replace(again, receipt=0) == replace(first, receipt=0)

    def test_what_is_rejected_does_not_come_again(self) -> None:
        with self.make().open(None) as receiver:
            self.send([("a", b"1"), ("b", b"2")])
            receiver.reject(self._received(receiver), "the test rejects the message")
            assert [each.value for each in self._settled(receiver, 1)] == [b"2"]

    def test_it_may_be_closed_twice_and_opened_again(self) -> None:
        intake = self.make()
        receiver = intake.open(None)
        receiver.close()
        receiver.close()
        with intake.open(None) as receiver:
            self.send([("a", b"1")])
            self._settled(receiver, 1)
            assert receiver.gaps == Gaps()

    def test_a_death_between_topic_and_source_leaves_each_message_once(self) -> None:
        self._needs_again()
        if not self.has_ids:
            raise SkipTest("the messages have no ids, so duplicates cannot be recognized")
        with TemporaryDirectory() as place:
            topics = Embedded(place)
            self.send([("a", b"1"), ("b", b"2")])
            try:
                self._run(_Dying(self.make()), topics, lambda _: False)
            except _Killed:
                pass
            else:
                raise AssertionError("the runner did not settle the written messages")
            values = self._values(topics)
            assert values in ([b"1"], [b"1", b"2"])
            again = 0 if self.resumes else len(values)
            new = 2 - len(values)
            runner = self._run(self.make(), topics, lambda count: count == again + new)
            assert sorted(self._values(topics)) == [b"1", b"2"]
            assert runner.report.duplicates == again

    def test_it_has_a_name_and_shows_no_secret(self) -> None:
        intake = self.make()
        assert intake.name
        assert intake.name == self.make().name
        shown = repr(intake) + str(intake) + intake.name
        assert not self.secret or self.secret not in shown

    def _needs_again(self) -> None:
        if not self.comes_again:
            raise SkipTest("the source does not deliver unsettled messages again")

    def _received(self, receiver: Receiver) -> Delivery:
        """Wait up to `patience` for one message, and return its delivery unsettled."""
        end = time.monotonic() + self.patience.total_seconds()
        while time.monotonic() < end:
            for found in receiver.receive(1, _WAIT):
                return found
        raise AssertionError(f"the intake received no message within {self.patience}")

    def _settled(self, receiver: Receiver, count: int, *, at_most: int = 10) -> list[Delivery]:
        """Receive, settle and return `count` messages, at most `at_most` in each call."""
        found: list[Delivery] = []
        end = time.monotonic() + self.patience.total_seconds()
        while len(found) < count and time.monotonic() < end:
            came = receiver.receive(at_most, _WAIT)
            assert len(came) <= at_most
            receiver.settle(came)
            found += came
        assert len(found) == count, f"{len(found)} messages came, {count} were sent"
        return found

    def _run(self, intake: Intake, topics: Embedded, done: Callable[[int], bool]) -> IntakeRunner:
        """Run the intake until `done` returns True for the number of messages in the topic.

        The number counts appended and duplicate messages. A run ends after `patience`.
        """

        def look(_: object) -> None:
            report = runner.report
            if done(report.appended + report.duplicates):
                runner.stop()

        runner = IntakeRunner(intake, _TOPIC, topics, on_report=look)
        runner.run(timeout=self.patience)
        return runner

    def _values(self, topics: Embedded) -> list[bytes]:
        reader = topics.reader()
        return [
            record.value or b""
            for partition, end in sorted(topics.admin().end_offsets(_TOPIC.name).items())
            for record in reader.read(_TOPIC.name, partition, 0, end)
        ]


class _Dying(Intake):
    """An intake whose process is killed before it settles anything."""

    def __init__(self, inner: Intake) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    def open(self, last: LastMessage | None) -> Receiver:
        return _DyingReceiver(self._inner.open(last))


class _DyingReceiver(Receiver):
    def __init__(self, inner: Receiver) -> None:
        self._inner = inner

    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        return self._inner.receive(limit, wait)

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        raise _Killed

    def reject(self, delivery: Delivery, reason: str) -> None:
        raise _Killed

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        raise _Killed

    def close(self) -> None:
        self._inner.close()
