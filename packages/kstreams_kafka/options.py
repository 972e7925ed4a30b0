"""The user's settings for a Kafka cluster.

All clients are librdkafka's; options have its names, which mostly are Kafka's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kstreams.connection import TopicReader
from kstreams.errors import KafkaOptionsError
from kstreams.options import checks_options
from kstreams_kafka.client_options import ClientOptions, OptionValue, is_java_only

if TYPE_CHECKING:
    from kstreams.batch.io.feed import Feed
    from kstreams_kafka.admin import KafkaAdmin
    from kstreams_kafka.writer import KafkaWriter

__all__ = ("Delivery", "Kafka", "Role")

Delivery = Literal["at-least-once", "exactly-once"]
"""The delivery guarantee for an app's results after a failure."""

Role = Literal["admin", "consumer", "producer"]
"""The purpose of a client."""

_ADDRESS = re.compile(r"(\w+://)?(\[[0-9A-Fa-f:%.]+\]|[^\s,:/\[\]@?#]+):\d{1,5}")
_PLAIN = re.compile(r"(\w+://)?[\w.:\[\] -]*")
_ENGINES = frozenset(
    {
        "auto.offset.reset",
        "bootstrap.servers",
        "delivery.report.only.error",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "metadata.broker.list",
        "partitioner",
        "transactional.id",
        "value.deserializer",
        "value.serializer",
    }
)


@checks_options
@dataclass(frozen=True, slots=True, repr=False)
class Kafka:
    """The address of a Kafka cluster, and the options of its clients.

    Implements `kstreams.connection.Connection`. An immutable, hashable value that can be
    pickled; its text form hides secret values (passwords, login configurations, keys). Reads and
    writes never create topics.

    Args:
        bootstrap: One or more `host:port`, separated by commas.
        options: Options of every client, by librdkafka's names:
            `security.protocol`, `sasl.mechanism`, `sasl.username`,
            `sasl.password`, `ssl.ca.location` and so on. Files must have the
            same path on the driver and on every executor.
        consumer: Options of consumers; they override `options`.
        producer: Options of producers; they override `options`.
        compiled: Whether the compiled loops of the package `kstreams-kafka-native` convert records
            to columns and back, for less than half of the processor time. None uses them if the
            package is installed, unless the variable `KSTREAMS_KAFKA_COMPILED` is 0. True fails if
            the package is not installed.
        delivery: The guarantee for the results, dead letters and changelogs of apps. At least once:
            a task writes them immediately, and again after a failure. Exactly once: they are
            written after the batch's commit, in one transaction for all tasks, which
            `read_committed` readers see once and completely. This needs the right to a
            transactional id and a group that begin with the app id.

    Raises:
        KafkaOptionsError: An address has no port, the engine sets an option
            itself, or an option exists only in the Java client.

    Example:
        >>> Kafka("broker:9093", {"security.protocol": "SASL_SSL", "sasl.password": "pw"})
        Kafka('broker:9093', {'sasl.password': '[redacted]', 'security.protocol': 'SASL_SSL'})
    """

    bootstrap: str
    options: Mapping[str, OptionValue] = field(default_factory=ClientOptions)
    consumer: Mapping[str, OptionValue] = field(default_factory=ClientOptions, kw_only=True)
    producer: Mapping[str, OptionValue] = field(default_factory=ClientOptions, kw_only=True)
    compiled: bool | None = field(default=None, kw_only=True)
    delivery: Delivery = field(default="at-least-once", kw_only=True)

    def __post_init__(self) -> None:
        for number, address in enumerate(self.bootstrap.split(","), 1):
            if not _ADDRESS.fullmatch(address.strip()):
                # Text that is no address may hold a password.
                plain = _PLAIN.fullmatch(address.strip())
                shown = repr(address.strip()) if plain else f"number {number}"
                raise KafkaOptionsError(
                    f"bootstrap address {shown} is not host:port",
                    option="bootstrap.servers",
                    hint="for example Kafka('broker-1:9092,broker-2:9092'); give user name and "
                    "password as the options sasl.username and sasl.password.",
                )
        for place in ("options", "consumer", "producer"):
            given = ClientOptions(getattr(self, place))
            _check(given, place)
            object.__setattr__(self, place, given)

    # The methods below import late: settings alone do not need the extra `kafka`.

    def admin(self) -> KafkaAdmin:
        """Open a client for administration.

        Raises:
            ImportError: The extra `kafka` is not installed; also raised by `reader` and `writer`.
            KafkaOptionsError: librdkafka does not know an option or its value; also raised by
                `reader` and `writer`.
        """
        from kstreams_kafka.admin import KafkaAdmin  # noqa: PLC0415

        return KafkaAdmin(self.client_options("admin"))

    def feed(self) -> Feed:
        """Open the feed of a query: the driver's side of topics."""
        from kstreams_kafka.feed import KafkaFeed  # noqa: PLC0415

        return KafkaFeed(self)

    def reader(self) -> TopicReader:
        """Open a reader, which skips records of open and aborted transactions."""
        from kstreams_kafka.reader import KafkaReader  # noqa: PLC0415

        return KafkaReader(self.client_options("consumer"), self.client_options("admin"))

    def writer(self) -> KafkaWriter:
        """Open a writer; close it after use."""
        from kstreams_kafka.writer import KafkaWriter  # noqa: PLC0415

        return KafkaWriter(self.client_options("producer"), self.client_options("admin"))

    def client_options(self, role: Role = "admin") -> ClientOptions:
        """Return the options of a librdkafka client in this role, including addresses."""
        extra: dict[Role, Mapping[str, OptionValue]] = {
            "admin": {},
            "consumer": self.consumer,
            "producer": self.producer,
        }
        own = {"bootstrap.servers": self.bootstrap}
        return ClientOptions({**self.options, **extra[role], **own})

    def __repr__(self) -> str:
        parts = [repr(self.bootstrap)]
        parts += [repr(self.options)] if self.options else []
        parts += [
            f"{place}={given!r}"
            for place, given in (("consumer", self.consumer), ("producer", self.producer))
            if given
        ]
        parts += [] if self.delivery == "at-least-once" else [f"delivery={self.delivery!r}"]
        return f"Kafka({', '.join(parts)})"


def _check(given: ClientOptions, place: str) -> None:
    for name in given:
        if name in _ENGINES:
            raise KafkaOptionsError(
                f"{name} in {place} is set by kstreams",
                option=name,
                hint=f"leave out {name}; a source's start and a topic's partitioner are given in "
                "the topology.",
            )
        if is_java_only(name):
            raise KafkaOptionsError(
                f"{name} in {place} is an option only of Kafka's Java client",
                option=name,
                hint="use librdkafka's options instead: sasl.username and sasl.password, "
                "ssl.ca.location, ...",
            )
