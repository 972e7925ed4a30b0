"""A webhook writes orders to a topic, and a topology sums them up; each order counts once.

An order is in the topic before its sender gets a response; a repeated order is detected by its id.
`kstreams intake webhook_orders:HOOK --topic orders --complete webhook_orders:keyed` does the same
as a separate process. Run: python examples/webhook_orders.py
"""

from __future__ import annotations

import hmac
import time
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from kstreams import INT64, TEXT, App, Embedded, Topic, TopologyBuilder, View
from kstreams.aggregators import over, sum_
from kstreams.intakes import Delivery, HmacSignature, IntakeRunner, Webhook
from kstreams.operators import aggregate
from kstreams.stores import timestamped_store
from kstreams_json import json_serde

SECRET = "known to us and to that shop"  # noqa: S105  # for this example
HOOK = Webhook("/orders", HmacSignature((SECRET,), prefix="sha256="), port=18_480)
ORDERS = Topic("orders", key=TEXT, value=json_serde(dict[str, str | int]))
SPENT = timestamped_store("spent", key=TEXT, value=INT64)


def keyed(delivery: Delivery) -> Delivery:
    order = ORDERS.value.deserialize(delivery.value)
    return replace(delivery, key=str(order["customer"]).encode(), id=str(order["id"]))


def cents_of(order: dict[str, str | int]) -> int:
    return int(order["cents"])


def send(body: bytes) -> int:
    signature = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    while True:
        try:
            connection = HTTPConnection("localhost", HOOK.port)
            headers = {"X-Hub-Signature-256": f"sha256={signature}"}
            connection.request("POST", HOOK.path, body, headers)
            return connection.getresponse().status
        except ConnectionError:  # the server is not ready: senders retry
            time.sleep(0.05)


def main(home: Path) -> None:
    topics = Embedded(home / "topics")
    runner = IntakeRunner(HOOK, ORDERS, topics, complete=keyed)
    thread = Thread(target=runner.run)
    thread.start()
    tea = b'{"id": "1", "customer": "ann", "cents": 250}'
    print([send(body) for body in (tea, tea, b'{"id": "2"}', tea.replace(b'"1"', b'"3"'))])
    runner.stop()
    thread.join()
    print(runner.report)
    builder = TopologyBuilder("spending")
    total = aggregate(over(cents_of, sum_(INT64)), store=SPENT)
    builder.add_processor("spent", total, builder.add_source("orders", ORDERS))
    App(builder.build(), topics, checkpoint=home / "checkpoint").run(until="end")
    with View(home / "checkpoint", SPENT) as spent:
        print({customer: cents for customer, (cents, _) in spent.items()})


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        main(Path(folder))
