"""Downloads the programs that tests would download: the broker and a schema registry.

A download takes as long as the network needs, which would count against a test's time limit. When
everything is cached, the command takes 0.1 s::

    python -m devtools.servers.fetch
    python -m devtools.servers.fetch databases
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from devtools.servers.bigtable import BigtableServer
from devtools.servers.cassandra import CassandraServer
from devtools.servers.dynamodb import DynamoServer
from devtools.servers.gcs import GcsServer
from devtools.servers.helm import helm_program
from devtools.servers.kafka import broker_jars
from devtools.servers.mongodb import MongoServer
from devtools.servers.opensearch import OpenSearchServer
from devtools.servers.process import NoServerError, ServerProcess
from devtools.servers.rabbit import RabbitServer
from devtools.servers.registry import registry_folder
from devtools.servers.sftp import OpenSshServer

_DATABASES = (
    BigtableServer,
    CassandraServer,
    DynamoServer,
    GcsServer,
    MongoServer,
    OpenSearchServer,
    OpenSshServer,
    RabbitServer,
)


def main() -> None:
    """Download the programs, and print the available ones."""
    if sys.argv[1:] == ["databases"]:
        for server in _DATABASES:
            _bring(server)
        _bring_helm()
        return
    sys.stdout.write(f"{len(broker_jars())} jars of Kafka are on this machine\n")
    sys.stdout.write(f"the schema registry is in {registry_folder().name}\n")


def _bring(server: Callable[[], ServerProcess]) -> None:
    """Create a server, which downloads its program, without starting it."""
    try:
        said = f"{server().name} is on this machine"
    except NoServerError as exc:
        said = f"its tests are skipped: {exc}"
    sys.stdout.write(f"{said}\n")


def _bring_helm() -> None:
    try:
        said = f"Helm is on this machine: {helm_program()}"
    except NoServerError as exc:
        said = f"its tests are skipped: {exc}"
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main()
