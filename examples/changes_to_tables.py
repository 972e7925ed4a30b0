"""Change data capture: joins two tables of a database as they change, into a third table.

Orders name their customer. A customer's new name updates all of the customer's deliveries, and the
deletion of an order deletes its delivery.

python examples/changes_to_tables.py postgresql://user:password@host/database
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import psycopg

from kstreams import INT64, TEXT, App, Topology, TopologyBuilder, map_values, timestamped_store
from kstreams.joins import inner
from kstreams_json import json_serde
from kstreams_postgres import Change, Columns, PostgresChanges, PostgresTable, changes

V = TypeVar("V")


@dataclass(frozen=True)
class Customer:
    """A row of `customers`; other columns are ignored."""

    name: str


@dataclass(frozen=True)
class Order:
    """A row of `orders`."""

    item: str
    customer: int


TABLES = """
CREATE TABLE customers (id bigint PRIMARY KEY, name text, password text);
CREATE TABLE orders (id bigint PRIMARY KEY, item text, customer bigint);
CREATE TABLE deliveries (id bigint PRIMARY KEY, label text);
INSERT INTO customers VALUES (7, 'Nina', 'secret'), (8, 'Ada', 'secret');
INSERT INTO orders VALUES (1, 'tea', 7), (2, 'milk', 7), (3, 'salt', 8)
"""
LATER = """
UPDATE customers SET name = 'Nina Simone' WHERE id = 7;
DELETE FROM orders WHERE id = 2;
INSERT INTO orders VALUES (4, 'oil', 8)
"""


def row_of(change: Change[V]) -> V | None:
    """Return the current row; None deletes it."""
    return change.new


def delivery(_: int, label: str | None) -> Columns | None:
    return None if label is None else {"label": label}


def deliveries(
    orders: PostgresChanges[int, Order],
    customers: PostgresChanges[int, Customer],
    into: PostgresTable[int, str | None],
) -> Topology:
    builder = TopologyBuilder("deliveries")
    order_table = builder.to_table(
        "orders",
        builder.add_processor(
            "order-rows", map_values(row_of), builder.add_source("order-changes", orders)
        ),
        store=timestamped_store("orders", key=INT64, value=json_serde(Order)),
    )
    customer_table = builder.to_table(
        "customers",
        builder.add_processor(
            "customer-rows", map_values(row_of), builder.add_source("customer-changes", customers)
        ),
        store=timestamped_store("customers", key=INT64, value=json_serde(Customer)),
    )
    labels = builder.join_foreign(
        "labels",
        order_table,
        customer_table,
        inner(lambda order, customer: f"{order.item} for {customer.name}"),
        by=lambda _, order: order.customer,
        store=timestamped_store("labels", key=INT64, value=TEXT),
    )
    builder.add_sink("deliveries", into, builder.to_stream("label-changes", labels))
    return builder.build()


def main(url: str, home: Path) -> None:
    orders = changes("orders", url, "orders", INT64, Order)
    customers = changes("customers", url, "customers", INT64, Customer)
    into: PostgresTable[int, str | None] = PostgresTable(
        url, "deliveries", key=("id",), row=delivery
    )
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(TABLES)
        try:
            for statements in (None, LATER):
                if statements:
                    database.execute(statements)
                app = App(deliveries(orders, customers, into), checkpoint=home / "checkpoint")
                app.run(until="end")
                print(database.execute("SELECT * FROM deliveries ORDER BY id").fetchall())
        finally:
            orders.drop()  # otherwise the server retains the log for the slot
            customers.drop()


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        main(sys.argv[1], Path(folder))
