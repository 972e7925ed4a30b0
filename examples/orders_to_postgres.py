"""Flows' two ways into a database: one row per message, and rows computed from a whole batch.

`orders` has the sum of payments of each order; `customers` has one row per customer of a batch.

python examples/orders_to_postgres.py postgresql://user:password@host/database
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from kstreams import INT64, TEXT, App, Embedded, Emitter, Record, Topic, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.operators import aggregate
from kstreams.stores import timestamped_store
from kstreams_postgres import Columns, PostgresTable

PAYMENTS = Topic("payments", key=TEXT, value=INT64)  # keyed by order: "customer/number"
PAID = timestamped_store("paid", key=TEXT, value=INT64)
TABLES = """
CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, paid bigint);
CREATE TABLE IF NOT EXISTS customers (name text PRIMARY KEY, last_order text)
"""


def by_customer(payments: Sequence[Record[str, int]]) -> list[tuple[object, Columns | None]]:
    """Return one row per customer from the payments of a task in one batch."""
    last = {payment.key.partition("/")[0]: payment.key for payment in payments}
    return [(name, {"last_order": order}) for name, order in last.items()]


def main(url: str, home: Path) -> None:
    orders: PostgresTable[str, int] = PostgresTable(
        url, "orders", key=("id",), row=lambda _, paid: {"paid": paid}
    )
    customers = PostgresTable.of_batches(url, "customers", key=("name",), rows=by_customer)
    builder = TopologyBuilder("orders")
    payments = builder.add_source("payments", PAYMENTS)
    paid = builder.add_processor("paid", aggregate(sum_(INT64), store=PAID), payments)
    builder.add_sink("orders", orders, paid)
    builder.add_sink("customers", customers, payments)

    topics = Embedded(home / "topics", default_partitions=1)
    with Emitter(PAYMENTS, topics) as emitter:
        emitter.emit_many([("ann/1", 5), ("ann/2", 7), ("bob/1", 9), ("ann/1", 3)])
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(TABLES)
        App(builder.build(), topics, checkpoint=home / "checkpoint").run(until="end")
        print(database.execute("SELECT * FROM orders ORDER BY id").fetchall())
        print(database.execute("SELECT * FROM customers ORDER BY name").fetchall())


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        main(sys.argv[1], Path(folder))
