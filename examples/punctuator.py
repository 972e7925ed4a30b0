"""Send a reminder if an order is not paid within an hour, with a stream-time punctuator.

python examples/punctuator.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, FixedKeyProcessor, Record, Topic, TopologyBuilder
from kstreams.durations import minutes
from kstreams.processors import ProcessorContext, PunctuationType
from kstreams.stores import key_value_store
from kstreams.testing import TopologyTestDriver

ORDERS = Topic("orders", key=TEXT, value=TEXT)  # "placed" or "paid", by number
REMINDERS = Topic("reminders", key=TEXT, value=TEXT)
UNPAID = key_value_store("unpaid", key=TEXT, value=INT64)  # when each was placed, ms
HOUR_MS = 3_600_000


class Remind(FixedKeyProcessor[str, str, str]):
    """Keeps the times of unpaid orders, and checks each minute for old ones."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.unpaid = context, context.store(UNPAID)
        context.schedule(minutes(1), PunctuationType.STREAM_TIME, self.remind)

    def process(self, record: Record[str, str]) -> None:
        if record.value == "placed":
            self.unpaid.put(record.key, record.timestamp)
        else:
            self.unpaid.delete(record.key)

    def remind(self, now_ms: int) -> None:
        for number, placed_ms in self.unpaid.range():
            if now_ms - placed_ms >= HOUR_MS:
                self.unpaid.delete(number)
                self.context.forward(Record(number, "please pay", now_ms))


builder = TopologyBuilder("reminders")
orders = builder.add_source("orders", ORDERS)
reminders = builder.add_processor("remind", Remind, orders, stores=[UNPAID])
builder.add_sink("reminders", REMINDERS, reminders)
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe(ORDERS, "1", "placed", timestamp=0)
        driver.pipe(ORDERS, "2", "placed", timestamp=60_000)
        driver.pipe(ORDERS, "1", "paid", timestamp=120_000)
        driver.pipe(ORDERS, "3", "placed", timestamp=HOUR_MS + 60_000)
        for reminder in driver.read(REMINDERS):
            print(f"order {reminder.key}: {reminder.value}")
