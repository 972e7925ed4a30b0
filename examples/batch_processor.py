"""Convert prices with Arrow: a whole table at a time instead of record by record.

python examples/batch_processor.py
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kstreams import DOUBLE, TEXT, Record, Topic, TopologyBuilder
from kstreams.processors import FixedKeyBatchProcessor
from kstreams.testing import TopologyTestDriver

DOLLARS = Topic("dollars", key=TEXT, value=DOUBLE)
EUROS = Topic("euros", key=TEXT, value=DOUBLE)
RATE = 0.5


class ToEuros(FixedKeyBatchProcessor[str, float, float]):
    """Multiplies the column of values by the exchange rate."""

    def process_batch(self, table: pa.Table) -> None:
        euros = pc.multiply(table.column("value"), RATE)
        position = table.schema.get_field_index("value")
        self.context.forward(table.set_column(position, "value", euros))


builder = TopologyBuilder("batch-processor")
dollars = builder.add_source("dollars", DOLLARS)
builder.add_sink("euros", EUROS, builder.add_processor("to-euros", ToEuros, dollars))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe_batch(DOLLARS, [Record("tea", 4.0), Record("milk", 3.0)])
        print(driver.read_values(EUROS))
