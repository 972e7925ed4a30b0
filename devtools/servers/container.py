"""Servers in containers, for machines with Docker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from testcontainers.community.postgres import PostgresContainer
from testcontainers.kafka import KafkaContainer
from testcontainers.minio import MinioContainer

from devtools.servers.docker import why_docker_is_silent
from devtools.servers.kafka import create_topic
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket


class ContainerBroker:
    """The parts of `KafkaBroker` that need no process on the host."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic that never deletes records, wait until it is usable, return its name."""
        create_topic(self.bootstrap, name, partitions, config or {})
        return name


@contextmanager
def container_broker() -> Iterator[ContainerBroker]:
    """Run a broker in a container; skip the test if Docker is not available."""
    if silence := why_docker_is_silent():
        pytest.skip(f"Docker does not answer: {silence}")
    with KafkaContainer().with_kraft() as container:
        yield ContainerBroker(container.get_bootstrap_server())


@contextmanager
def container_bucket() -> Iterator[Bucket]:
    """Run MinIO in a container, with one bucket; skip the test if Docker is not available."""
    if silence := why_docker_is_silent():
        pytest.skip(f"Docker does not answer: {silence}")
    with MinioContainer(access_key=ACCESS_KEY, secret_key=SECRET_KEY) as container:
        yield Bucket(f"http://{container.get_config()['endpoint']}", "tests")


@contextmanager
def container_postgres() -> Iterator[str]:
    """Run PostgreSQL in a container; skip the test if Docker is not available."""
    if silence := why_docker_is_silent():
        pytest.skip(f"Docker does not answer: {silence}")
    with PostgresContainer("postgres:16-alpine", driver=None) as container:
        yield container.get_connection_url()
