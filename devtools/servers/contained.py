"""The servers of the connectors' tests in containers: same addresses, official images.

`make test-connectors SERVERS=containers` runs the tests on them if Docker is available; otherwise
the tests are skipped with the reason. A server that a test kills or starts itself stays a process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import ClassVar

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from devtools.servers.bigtable import BigtableServer
from devtools.servers.cassandra import CassandraServer
from devtools.servers.docker import why_docker_is_silent
from devtools.servers.dynamodb import DynamoServer
from devtools.servers.mongodb import MongoServer
from devtools.servers.opensearch import OpenSearchServer
from devtools.servers.postgres import PASSWORD as POSTGRES_PASSWORD
from devtools.servers.postgres import PostgresServer
from devtools.servers.process import NoServerError, ServerProcess
from devtools.servers.rabbit import RabbitServer
from devtools.servers.redis import PASSWORD as REDIS_PASSWORD
from devtools.servers.redis import RedisServer

__all__ = ("CONTAINED",)

_START = timedelta(minutes=3)


class _Contained(ServerProcess):
    """A server in a container; its data is deleted with the container."""

    image: ClassVar[str]
    inner: ClassVar[tuple[int, ...]]
    """Ports in the container, in the order of the process's ports."""
    says: ClassVar[str]
    """Text in the log that shows that the server is ready."""
    arguments: ClassVar[str] = ""

    def __init__(self) -> None:
        if silence := why_docker_is_silent():
            raise NoServerError(f"Docker does not answer: {silence}")
        ServerProcess.__init__(self, type(self).__name__, ports=len(self.inner))
        self._container: DockerContainer | None = None

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables of the container."""
        return {}

    def files(self) -> Mapping[str, str]:
        """Return names of files in the server's folder, by their paths in the container."""
        return {}

    def prepare(self) -> None:
        """Do nothing: the image is already prepared."""

    def kill(self) -> None:
        """Stop the container."""
        if self._container is not None:
            self._container.stop()
            self._container = None

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self.ports = ports
        made = DockerContainer(self.image).with_envs(**self.variables())
        for inner, port in zip(self.inner, ports, strict=True):
            made.with_bind_ports(inner, port)
        for inside, name in self.files().items():
            made.with_volume_mapping(self.folder / name, inside)
        if self.arguments:
            made.with_command(self.arguments)
        ready = LogMessageWaitStrategy(self.says).with_startup_timeout(_START)
        self._container = made.waiting_for(ready)
        self._container.start()


class _Bigtable(_Contained, BigtableServer):
    image = "gcr.io/google.com/cloudsdktool/google-cloud-cli:emulators"
    inner = (8086,)
    says = "running on"
    arguments = "gcloud beta emulators bigtable start --host-port=0.0.0.0:8086"


class _Cassandra(_Contained, CassandraServer):
    image = "cassandra:5.0"
    inner = (9042,)
    says = "Starting listening for CQL clients"

    def variables(self) -> Mapping[str, str]:
        return {"MAX_HEAP_SIZE": "512M", "HEAP_NEWSIZE": "128M"}


class _Dynamo(_Contained, DynamoServer):
    image = "amazon/dynamodb-local:3.0.0"
    inner = (8000,)
    says = "Initializing DynamoDB Local"
    arguments = "-jar DynamoDBLocal.jar -inMemory -sharedDb"


class _Mongo(_Contained, MongoServer):
    image = "mongo:7"
    inner = (27017,)
    says = "Waiting for connections"


class _OpenSearch(_Contained, OpenSearchServer):
    image = "opensearchproject/opensearch:2.19.1"
    inner = (9200,)
    says = "Node started|Cluster health status changed"

    def variables(self) -> Mapping[str, str]:
        return {
            "discovery.type": "single-node",
            "DISABLE_SECURITY_PLUGIN": "true",
            "DISABLE_INSTALL_DEMO_CONFIG": "true",
            "OPENSEARCH_JAVA_OPTS": "-Xms512m -Xmx512m",
        }


class _Postgres(_Contained, PostgresServer):
    image = "postgres:16-alpine"
    inner = (5432,)
    says = "(?s)database system is ready.*database system is ready"  # the server starts twice

    def variables(self) -> Mapping[str, str]:
        return {"POSTGRES_PASSWORD": POSTGRES_PASSWORD}


class _Rabbit(_Contained, RabbitServer):
    image = "rabbitmq:3.13"
    inner = (5672, 4369, 25672, 5552)
    says = "Server startup complete"

    def prepare(self) -> None:
        RabbitServer.prepare(self)

    def files(self) -> Mapping[str, str]:
        return {"/etc/rabbitmq/enabled_plugins": "enabled_plugins"}

    def variables(self) -> Mapping[str, str]:
        where = f'advertised_host "127.0.0.1" -rabbitmq_stream advertised_port {self.ports[3]}'
        return {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-rabbitmq_stream {where}"}


class _Redis(_Contained, RedisServer):
    image = "redis:7-alpine"
    inner = (6379,)
    says = "Ready to accept connections"
    arguments = f"redis-server --requirepass {REDIS_PASSWORD} --maxmemory 128mb"


CONTAINED: Mapping[Callable[[], ServerProcess], Callable[[], ServerProcess]] = {
    BigtableServer: _Bigtable,
    CassandraServer: _Cassandra,
    DynamoServer: _Dynamo,
    MongoServer: _Mongo,
    OpenSearchServer: _OpenSearch,
    PostgresServer: _Postgres,
    RabbitServer: _Rabbit,
    RedisServer: _Redis,
}
"""The container server for each process server."""
