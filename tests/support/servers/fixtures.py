"""Fixtures of the real servers and of a browser, for any test."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from devtools.servers.kafka import KafkaBroker
from devtools.servers.postgres import PostgresServer, new_schema
from devtools.servers.rabbit import RabbitServer
from devtools.servers.redis import RedisServer
from devtools.servers.registry import Registry
from devtools.servers.s3 import Bucket, S3Server
from devtools.servers.skipping import chosen, or_skip
from devtools.servers.spark_connect import SparkConnectServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession


ROOT = Path(__file__).parents[3]
"""Root of the repository, from which tests import."""

_PATIENCE_MS = 30_000
"""Timeout for expected changes of a page; the speed of pages is not tested."""


class Broker(Protocol):
    """A broker as tests use it, in a process or in a container."""

    @property
    def bootstrap(self) -> str:
        """The address of the plain listener."""
        ...

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic and return its name."""
        ...


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker process for the whole run, with SASL and SSL listeners; never stop it."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), sasl=True, ssl=True) as running:
        yield running


@pytest.fixture(scope="session", params=["process", "container"])
def any_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """The broker process, then one in a container; skipped where Docker is not available."""
    with ExitStack() as stack:
        if request.param == "process":
            yield request.getfixturevalue("broker")
        else:
            container = pytest.importorskip("devtools.servers.container", exc_type=ImportError)
            yield stack.enter_context(container.container_broker())


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server process for the whole run; never stop it."""
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="session")
def bucket(s3_server: S3Server) -> Bucket:
    """A bucket of the S3 server for the whole run: use a prefix of it."""
    return Bucket(s3_server.url, f"tests-{uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session", params=["process", "container"])
def any_bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """The bucket, then one of MinIO in a container; skipped where Docker is not available."""
    with ExitStack() as stack:
        if request.param == "process":
            yield request.getfixturevalue("bucket")
        else:
            container = pytest.importorskip("devtools.servers.container", exc_type=ImportError)
            yield stack.enter_context(container.container_bucket())


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A unique topic name that contains the name of the test."""
    test = re.sub(r"[^A-Za-z0-9_.-]+", "-", request.node.name)[:60]
    return f"{test}-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a schema registry for the whole run: use unique subjects."""
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running.url


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkConnectServer]:
    """A Spark Connect server process for the whole run; never stop it."""
    _need_connect()
    with SparkConnectServer(tmp_path_factory.mktemp("connect"), modules=[ROOT]) as running:
        yield running


@pytest.fixture(scope="session")
def connect(connect_server: SparkConnectServer) -> Iterator[SparkSession]:
    """A session on the Spark Connect server, in addition to the process's classic session."""
    made = connect_to(connect_server)
    yield made
    made.stop()


def connect_to(server: SparkConnectServer) -> SparkSession:
    """Return a new session on a server, with the type that users see."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    return cast("SparkSession", ConnectSession.builder.remote(server.url).create())


def _need_connect() -> None:
    for module in ("grpc", "grpc_status", "zstandard", "pandas"):
        pytest.importorskip(
            module, reason="Spark Connect needs its extra: pip install 'kstreams-spark[connect]'"
        )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server process for the whole run; never stop it."""
    with or_skip(chosen(PostgresServer)) as running:
        yield running


@pytest.fixture(scope="session", params=["process", "container"])
def any_postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of the server process, then of one in a container, where Docker is available."""
    with ExitStack() as stack:
        if request.param == "process":
            yield request.getfixturevalue("postgres_server").url
        else:
            container = pytest.importorskip("devtools.servers.container", exc_type=ImportError)
            yield stack.enter_context(container.container_postgres())


@pytest.fixture
def database(postgres_server: PostgresServer) -> str:
    """Address of a database, with a schema for this test only."""
    return new_schema(postgres_server.url)


@pytest.fixture(scope="session")
def rabbit() -> Iterator[RabbitServer]:
    """A RabbitMQ server for the whole run, with streams; never stop it."""
    with or_skip(chosen(RabbitServer)) as running:
        yield running


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server process for the whole run; never stop it, but empty it."""
    with or_skip(chosen(RedisServer)) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium for one module; without it, tests are skipped or, if it is required, fail.

    Not for the session: while Playwright is open, its event loop counts as running in this thread,
    and `asyncio.run` fails in every test of other modules.
    """
    from playwright.sync_api import expect

    from devtools.browser import chromium, chromium_path

    path = chromium_path()
    if path is None:
        reason = "there is no Chromium: apt-get install chromium, or KSTREAMS_CHROMIUM=PATH"
        if os.environ.get("KSTREAMS_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=_PATIENCE_MS)
    with chromium(path) as found:
        yield found
