"""GoConnect's first job: each item in the compressed XML files of a folder becomes a message.

python examples/xml_files_to_amqp.py amqp://user:password@host/vhost
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pika

from kstreams import App, TopologyBuilder
from kstreams.operators import flat_map_values
from kstreams.sources import Gzip, Whole, folder
from kstreams_amqp import AmqpExchange
from kstreams_xml import xml_serde


@dataclass(frozen=True)
class Order:
    """A file; elements without a field in this type are ignored."""

    customer: str
    item: list[str]


def bills_of(order: Order) -> list[tuple[str, str]]:
    return [(order.customer, item) for item in order.item]


def main(url: str, home: Path) -> None:
    files = folder("orders", home, Gzip(Whole(xml_serde(Order, path="order"))))
    bills: AmqpExchange[str, tuple[str, str]] = AmqpExchange(
        url, "", body=lambda _, bill: json.dumps(bill).encode(), routing_key="bills"
    )
    builder = TopologyBuilder("bills")
    read = builder.add_source("orders", files, on_error="skip")
    items = builder.add_processor("items", flat_map_values(bills_of), read)
    builder.add_sink("bills", bills, items)
    text = "<order><note/><customer>ann</customer><item>tea</item><item>milk</item></order>"
    for name, data in (("1", text), ("2", text.replace("ann", "bob")), ("3", "<order>cut")):
        (home / f"{name}.part").write_bytes(gzip.compress(data.encode()))
        (home / f"{name}.part").rename(home / f"{name}.xml.gz")  # complete before the app sees it
    App(builder.build(), checkpoint=home / ".checkpoint").run(until="end")


if __name__ == "__main__":
    connection = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
    channel = connection.channel()
    channel.queue_declare("bills", durable=True)
    with TemporaryDirectory(prefix="kstreams-example-") as place:
        main(sys.argv[1], Path(place))
    while (message := channel.basic_get("bills", auto_ack=True))[0] is not None:
        print(message[2].decode())
    connection.close()
