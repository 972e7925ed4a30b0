"""Write failed records to a dead letter topic, with the reason in their headers, and continue.

python examples/dead_letters.py
"""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT, DeadLetter, Topic, TopologyBuilder, map_values
from kstreams.testing import TopologyTestDriver

AMOUNTS = Topic("amounts", key=TEXT, value=TEXT)
CENTS = Topic("cents", key=TEXT, value=INT64)
FAILED = Topic("amounts-failed", key=BYTES, value=BYTES)

builder = TopologyBuilder("dead-letters")
amounts = builder.add_source("amounts", AMOUNTS, on_error=DeadLetter(FAILED.name))
cents = builder.add_processor("parse", map_values(lambda text: round(float(text) * 100)), amounts)
builder.add_sink("cents", CENTS, cents)
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe(AMOUNTS, "ann", "1.25")
        driver.pipe(AMOUNTS, "bob", "a lot")
        driver.write_bytes(AMOUNTS.name, b"eve", b"\xff not UTF-8", timestamp=0)
        driver.run()
        for record in driver.read(CENTS):
            print(f"{record.key}: {record.value} cents")
        for letter in driver.read(FAILED):
            reason = dict(letter.headers)["kstreams-error-message"]
            print(f"set aside {letter.value!r}: {reason.decode() if reason else ''}")
        print(driver.dropped)
