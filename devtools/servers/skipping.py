"""Servers for tests, which are skipped where they cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from devtools.servers.process import NoServerError, Server

__all__ = ("or_skip",)

S = TypeVar("S", bound=Server)


@contextmanager
def or_skip(make: Callable[[], S]) -> Iterator[S]:
    """Run a server; skip the tests where it cannot be had on this machine, with the reason."""
    try:
        server = make()
    except NoServerError as exc:
        pytest.skip(str(exc))
    with server:
        yield server
