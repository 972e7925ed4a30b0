"""Servers of the connectors' tests in containers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.servers import docker
from devtools.servers.process import NoServerError, ServerProcess
from devtools.servers.redis import RedisServer
from devtools.servers.skipping import chosen, or_skip

contained = pytest.importorskip("devtools.servers.contained", exc_type=ImportError)


def test_server_runs_in_a_process_unless_containers_are_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KSTREAMS_SERVERS", raising=False)
    assert chosen(RedisServer) is RedisServer
    monkeypatch.setenv("KSTREAMS_SERVERS", "containers")
    assert chosen(RedisServer) is contained.CONTAINED[RedisServer]


@pytest.mark.parametrize("server", contained.CONTAINED, ids=lambda each: each.__name__)
def test_server_in_a_container_without_docker_fails_with_the_reason(
    server: Callable[[], ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contained, "why_docker_is_silent", lambda: "no such file: docker")
    monkeypatch.setenv("KSTREAMS_SERVERS", "containers")
    with pytest.raises(NoServerError, match="Docker does not answer: no such file"):
        chosen(server)()


def test_redis_server_in_container_replies_to_commands() -> None:
    if silence := docker.why_docker_is_silent():
        pytest.skip(f"Docker does not answer: {silence}")
    with or_skip(contained.CONTAINED[RedisServer]) as server:
        assert server.answers()
