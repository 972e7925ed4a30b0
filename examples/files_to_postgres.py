"""Files to a database table, without a topic: each line counts once, even if the app crashes.

Compressed CSV files arrive in a folder; the app sums up payments by customer and skips bad rows.

python examples/files_to_postgres.py postgresql://user:password@host/database
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from kstreams import INT64, TEXT, App, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.operators import aggregate, map_
from kstreams.sources import Csv, Gzip, folder
from kstreams.stores import timestamped_store
from kstreams_postgres import PostgresTable

PAID = timestamped_store("paid", key=TEXT, value=INT64)


@dataclass(frozen=True)
class Payment:
    """A row of a file; the first line contains the names of the columns."""

    customer: str
    amount: int


def main(url: str, home: Path) -> None:
    payments = folder("payments", home, Gzip(Csv(Payment)), pattern="*.csv.gz")
    table: PostgresTable[str, int] = PostgresTable(
        url, "paid", key=("customer",), row=lambda _, paid: {"paid": paid}
    )
    builder = TopologyBuilder("payments")
    rows = builder.add_source("payments", payments, on_error="skip")
    amounts = builder.add_processor("amounts", map_(lambda _, r: (r.customer, r.amount)), rows)
    by_customer = builder.repartition("by-customer", amounts, key=TEXT, value=INT64)
    paid = builder.add_processor("paid", aggregate(sum_(INT64), store=PAID), by_customer)
    builder.add_sink("table", table, paid)
    topology = builder.build()
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE TABLE IF NOT EXISTS paid (customer text PRIMARY KEY, paid bigint)")
        for name, text in (("1", "ann,5\nbob,7\n"), ("2", "ann,3\nbob,seven\n")):
            file = home / f"{name}.part"  # complete before the app sees it
            file.write_bytes(gzip.compress(f"customer,amount\n{text}".encode()))
            file.rename(home / f"{name}.csv.gz")
            App(topology, checkpoint=home / ".checkpoint").run(until="end")
            print(database.execute("SELECT * FROM paid ORDER BY customer").fetchall())


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as place:
        main(sys.argv[1], Path(place))
