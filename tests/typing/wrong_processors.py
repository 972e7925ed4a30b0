"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import INT64, TEXT, FixedKeyProcessor, Processor, ProcessorContext, Record, Serde
from kstreams.connection import Connection
from kstreams.emitter import Emitter
from kstreams.processors import BatchProcessor
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from tests.typing.word_count import COUNTS, DELETABLE, NAMES, TOTALS


class Forwards(FixedKeyProcessor[str, int, str]):
    """Forwards records of the wrong type."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value("fine"))
        self.context.forward(record)  # red
        self.context.forward(record.with_value(record.value + 1))  # red
        self.context.forward(record.with_value("x").with_key(1))  # red
        self.context.forward("x")  # red
        self.context.forward_to("child", record)  # red
        self.context.forward_to(3, record.with_value("x"))  # red
        record.value.upper()  # red
        record.value = 3  # red
        _ = self.context.metadata.offset  # red
        self.context.schedule(1000, None, print)  # red


class Stores(Processor[str, int, str, int]):
    """Misuses its stores."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)
        self.names: KeyValueStore[str, int] = context.store(NAMES)  # red
        context.store("counts")  # red

    def process(self, record: Record[str, int]) -> None:
        self.counts.put(record.key, record.value)
        self.counts.put(record.key, "many")  # red
        self.counts.put(record.value, 1)  # red
        self.counts.get(record.value)  # red
        _ = self.counts.get(record.key) + 1  # red
        self.counts.delete(b"key")  # red
        self.counts.put_if_absent("a", None)  # red
        for key, total in self.counts.range("a", "b"):
            self.context.forward(record.with_key(key).with_value(total))
            self.context.forward(record.with_key(total))  # red
        self.counts.range(1, 2)  # red
        text: str = self.counts.get("a")  # red
        del text


class TakesText(FixedKeyProcessor[str, int, int]):
    """Overrides a method with another type."""

    def process(self, record: Record[str, str]) -> None:  # red
        del record


class WrongContext(FixedKeyProcessor[str, int, int]):
    """Overrides a method with another type."""

    def init(self, context: ProcessorContext[str, str]) -> None:  # red
        del context

    def process(self, record: Record[str, int]) -> None:
        del record


class NoTable(BatchProcessor[str, int, str, int]):
    """Overrides a method with other parameters."""

    def process_batch(self) -> None:  # red
        pass


class WrongSerde(Serde[int]):
    """Overrides methods with another type."""

    name = "wrong"

    def serialize(self, value: str) -> bytes:  # red
        return value.encode()

    def deserialize(self, data: bytes) -> str:  # red
        return data.decode()


key_value_store("s", key=str, value=INT64)  # red
key_value_store("s", key=TEXT)  # red
record: Record[str, str] = Record("a", 1)  # red


def emit(connection: Connection) -> None:
    """Emit records that the topic does not accept."""
    totals = Emitter(TOTALS, connection)
    totals.emit("a", 1)
    totals.emit(b"a", 1)  # red
    totals.emit("a", "1")  # red
    totals.emit("a", None)  # red
    totals.emit("a", 1, timestamp="now")  # red
    totals.emit_many([("a", "1")])  # red
    totals.emit_many([Record(b"a", 1)])  # red
    Emitter(DELETABLE, connection).emit(None, "a")  # red
    Emitter("totals", connection)  # red
