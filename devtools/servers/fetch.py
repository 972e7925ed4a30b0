"""
Bring onto this machine what tests would download: the broker, and a schema registry.

A download takes as long as the network does, which no test's time limit should hold.
Done before, it costs 0.1 s::

    python -m devtools.servers.fetch
    python -m devtools.servers.fetch databases
"""

from __future__ import annotations

import sys

from devtools.servers.cassandra import CassandraServer
from devtools.servers.debian import debian_root
from devtools.servers.dynamodb import DynamoServer
from devtools.servers.java_server import NoServerError
from devtools.servers.kafka import broker_jars
from devtools.servers.mongodb import MongoServer
from devtools.servers.opensearch import OpenSearchServer
from devtools.servers.rabbit import RABBIT
from devtools.servers.registry import registry_folder

_DATABASES = (CassandraServer, DynamoServer, MongoServer, OpenSearchServer)


def main() -> None:
    """Fetch, and say what is there."""
    if sys.argv[1:] == ["databases"]:
        for database in _DATABASES:
            try:
                sys.stdout.write(f"{database().jars.name} is on this machine\n")
            except NoServerError as exc:
                sys.stdout.write(f"its tests are skipped: {exc}\n")
        try:
            sys.stdout.write(f"{debian_root(RABBIT).name} is on this machine\n")
        except FileNotFoundError as exc:
            sys.stdout.write(f"its tests are skipped: {exc}\n")
        return
    sys.stdout.write(f"{len(broker_jars())} jars of Kafka are on this machine\n")
    sys.stdout.write(f"the schema registry is in {registry_folder().name}\n")


if __name__ == "__main__":
    main()
