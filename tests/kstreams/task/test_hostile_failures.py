"""Any exception of user code is a typed, bounded failure of its record, handled by the policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    Record,
    Serde,
    Topic,
    Topology,
    TopologyBuilder,
    map_values,
)
from kstreams.errors import KStreamsError, ProcessingError, SerializationError
from kstreams.processors.on_error import dead_letter_topic
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_stdout
from tests.support.apps.one_task import IN, OUT

LETTERS = DeadLetter("letters")
LETTER = dead_letter_topic(LETTERS)


class Exit(BaseException):
    """An exit exception of the user."""


class Mute(Exception):
    """An exception without text."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Bare(KStreamsError):
    """A typed error that does not call its base class."""

    def __init__(self) -> None:
        pass


class Odd(SerializationError):
    """A typed error with an invalid place."""

    def __init__(self) -> None:
        nowhere: Any = 5
        self.where = nowhere

    def __str__(self) -> str:
        raise SystemExit(4)


FAILURES: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "generator exit": GeneratorExit(),
    "own exit": Exit("stop"),
    "no text": Mute(),
    "surrogate": ValueError("bad \ud800 text"),
    "control": ValueError("a\n\x1b[2J"),
    "large": ValueError("x" * 5_000_000),
    "typed": SerializationError("\udfff" * 5_000_000),
    "bare": Bare(),
    "odd": Odd(),
    "stop iteration": StopIteration(5),
}


def failing(failure: BaseException, policy: Any) -> Topology:
    """Return a topology: in -> processor that raises at the value 0 -> out."""

    def check(value: int) -> int:
        if value == 0:
            raise failure
        return value

    builder = TopologyBuilder("failing")
    source = builder.add_source("in", IN, on_error=policy)
    builder.add_sink("out", OUT, builder.add_processor("check", map_values(check), source))
    return builder.build()


def pipe(driver: TopologyTestDriver) -> None:
    driver.pipe_batch(IN, [Record("a", 1, 5), Record("bad", 0, 6), Record("b", 2, 7)])


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_any_exception_becomes_typed_error_that_names_record(failure: BaseException) -> None:
    with TopologyTestDriver(failing(failure, "fail")) as driver:
        with pytest.raises(KStreamsError) as caught:
            pipe(driver)
        where = caught.value.where
        assert (where.node, where.topic, where.offset, where.key) == ("check", "in", 1, "bad")
        assert len(str(caught.value).encode()) < 40_000
        assert "\x1b" not in str(caught.value)
        if isinstance(caught.value, ProcessingError):
            assert type(failure).__name__ in caught.value.cause_type
            assert caught.value.__cause__ is failure


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_record_that_raises_any_exception_can_be_skipped(failure: BaseException) -> None:
    with TopologyTestDriver(failing(failure, "skip")) as driver:
        pipe(driver)
        assert driver.read_values(OUT) == {"a": 1, "b": 2}
        assert sum(driver.dropped.values()) == 1


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_any_exception_results_in_dead_letter_with_small_headers(failure: BaseException) -> None:
    with TopologyTestDriver(failing(failure, LETTERS)) as driver:
        pipe(driver)
        assert driver.read_values(OUT) == {"a": 1, "b": 2}
        (letter,) = driver.read(LETTER)
        assert (letter.key, letter.value) == (b"bad", INT64.serialize(0))
        headers = {name: (data or b"").decode() for name, data in letter.headers}
        assert headers["kstreams-error-node"] == "check"
        assert headers["kstreams-error-offset"] == "1"
        assert all(len(text) <= 1_000 for text in headers.values())


def test_keyboard_interrupt_is_raised_and_batch_has_no_effect() -> None:
    interrupts = iter([KeyboardInterrupt()])

    def check(value: int) -> int:
        for interrupt in interrupts:
            raise interrupt
        return value

    for policy in ("fail", "skip"):
        builder = TopologyBuilder("failing")
        source = builder.add_source("in", IN, on_error=policy)
        builder.add_sink("out", OUT, builder.add_processor("check", map_values(check), source))
        interrupts = iter([KeyboardInterrupt()])
        with TopologyTestDriver(builder.build()) as driver:
            with pytest.raises(KeyboardInterrupt):
                pipe(driver)
            assert not driver.read(OUT)
            driver.run()
            assert driver.read_values(OUT) == {"a": 1, "bad": 0, "b": 2}


class Exiting(Processor[str, int, str, int]):
    """Exits on request."""

    def __init__(self, place: str) -> None:
        self.place = place

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        self._leave("init")

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)

    def close(self) -> None:
        self._leave("close")

    def _leave(self, place: str) -> None:
        if place == self.place:
            raise Exit(place)


@pytest.mark.parametrize("place", ["init", "close"])
def test_error_of_exit_outside_of_record_names_node(place: str) -> None:
    builder = TopologyBuilder("failing")
    node = builder.add_processor("leaves", lambda: Exiting(place), builder.add_source("in", IN))
    builder.add_sink("out", OUT, node)
    topology = builder.build()
    with pytest.raises(ProcessingError, match="Exit in a processor") as caught:  # noqa: SIM117
        with TopologyTestDriver(topology) as driver:
            pipe(driver)
    assert caught.value.where.node == "leaves"


class Leaving(Serde[str]):
    """Text serde that exits at `bad`, when read or written."""

    name = "leaving"
    type_token = str

    def serialize(self, value: str) -> bytes:
        return self._checked(value).encode()

    def deserialize(self, data: bytes) -> str:
        return self._checked(data.decode())

    def _checked(self, text: str) -> str:
        if text == "bad":
            raise Exit(text)
        return text


@pytest.mark.parametrize("side", ["read", "written"])
def test_system_exit_in_serde_fails_only_its_record(side: str) -> None:
    raw, wanted = Topic("in", TEXT, TEXT), Topic("out", TEXT, TEXT)
    source = Topic("in", TEXT, Leaving()) if side == "read" else raw
    sink = Topic("out", TEXT, Leaving()) if side == "written" else wanted
    builder = TopologyBuilder("failing")
    builder.add_sink("out", sink, builder.add_source("in", source, on_error="skip"))
    with TopologyTestDriver(builder.build()) as driver:
        for text in ("a", "bad", "b"):
            driver.write_bytes("in", text.encode(), text.encode(), timestamp=0)
        driver.run()
        assert [record.value for record in driver.read(wanted)] == ["a", "b"]


def test_system_exit_in_time_extractor_fails_only_its_record() -> None:
    def extract(record: Record[str, int]) -> int:
        if record.value == 0:
            raise Exit
        return 1

    builder = TopologyBuilder("failing")
    source = builder.add_source("in", IN, on_error="skip", event_time=extract)
    builder.add_sink("out", OUT, source)
    with TopologyTestDriver(builder.build()) as driver:
        pipe(driver)
        assert driver.read_values(OUT) == {"a": 1, "b": 2}


@dataclass(frozen=True)
class Shy:
    """A value whose `repr` fails."""

    number: int

    def __repr__(self) -> str:
        raise RuntimeError("no")


class ToShy(FixedKeyProcessor[str, int, Any]):
    """Forwards a value that cannot be printed."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(Shy(record.value)))


def test_stdout_sink_escapes_unprintable_keys_and_headers() -> None:
    builder = TopologyBuilder("shy")
    shy = builder.add_processor("shy", ToShy, builder.add_source("in", IN, on_error="skip"))
    builder.add_sink("shown", to_stdout(), shy)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "a\x1b[2J\n", 1, headers=(("h\r", b"\x1b"), ("x", b"y" * 100_000)))
        (line,) = driver.lines
    assert line.startswith(
        r"shown: 'a\x1b[2J\n' -> <Shy whose repr raises RuntimeError> @0 {'h\r': "
    )
    assert line.isprintable()
    assert len(line) < 11_000
