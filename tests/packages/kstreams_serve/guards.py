"""Guards of the server, each with a patch that removes it and a probe that a hostile client would
try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.packages.kstreams_serve.socketless_client import Asked, asked
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS

STORE = "/v1/apps/viewed/stores/counts"
KEY = f"{STORE}/key?key=a"
Probe = Callable[[Path], None]


def nothing(*_: Any, **__: Any) -> None:
    """Replace a guard by a function without an effect."""


@dataclass
class Guarded:
    """A guard of the server.

    Attributes:
        place: The object that has the guard.
        name: The attribute of the guard.
        gone: The replacement that removes the guard.
        probe: The actions of a client, in an empty directory, with an assertion that the guard
            holds.
    """

    place: Any
    name: str
    gone: Any
    probe: Probe


GUARDS: dict[str, Guarded] = {}


def holds(place: Any, name: str, gone: Any = nothing) -> Callable[[Probe], Probe]:
    """Register a probe of a guard."""

    def add(probe: Probe) -> Probe:
        GUARDS[probe.__name__] = Guarded(place, name, gone, probe)
        return probe

    return add


def an_app(path: Path, rows: int = 1) -> Path:
    app = Committing(path / "c", COUNTS)
    app.put([("a", 1), *((f"k{n:04}", n) for n in range(rows))])
    return path / "c"


@contextmanager
def visiting(path: Path, given: dict[str, Any] | None = None, **limits: Any) -> Iterator[Asked]:
    """Yield a client of a server for an app."""
    with asked((an_app(path), COUNTS), settings=given, **limits) as ask:
        assert ask(KEY).status == 200
        yield ask
