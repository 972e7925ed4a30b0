"""Servers for tests; tests are skipped on machines that cannot run the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import pytest

from devtools.servers.process import NoServerError, Server, ServerProcess

__all__ = ("chosen", "or_skip")

S = TypeVar("S", bound=Server)
P = TypeVar("P", bound=ServerProcess)

_CHOICE = "KSTREAMS_SERVERS"


def chosen(server: Callable[[], P]) -> Callable[[], P]:
    """Return a server as a process, or in a container if containers were chosen."""
    if os.environ.get(_CHOICE) != "containers":
        return server
    from devtools.servers.contained import CONTAINED

    return cast("Callable[[], P]", CONTAINED[server])


@contextmanager
def or_skip(make: Callable[[], S]) -> Iterator[S]:
    """Run a server; skip the tests with the reason if it cannot run on this machine."""
    try:
        server = make()
    except NoServerError as exc:
        pytest.skip(str(exc))
    with server:
        yield server
