"""Guards of the server, each with what takes it out and what a hostile visitor does against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kstreams.views.committing import Committing
from tests.kstreams.views.counted import COUNTS
from tests.packages.kstreams_serve.asked import Asked, asked

STORE = "/v1/apps/viewed/stores/counts"
KEY = f"{STORE}/key?key=a"
Probe = Callable[[Path], None]


def nothing(*_: Any, **__: Any) -> None:
    """Stand where a guard was."""


@dataclass
class Guarded:
    """A guard.

    Attributes:
        place: What has it.
        name: Under which name.
        gone: What stands there when it is taken out.
        probe: What a visitor does, in an empty directory; it asserts that the guard is there.
    """

    place: Any
    name: str
    gone: Any
    probe: Probe


GUARDS: dict[str, Guarded] = {}


def holds(place: Any, name: str, gone: Any = nothing) -> Callable[[Probe], Probe]:
    """Add a probe of a guard."""

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
    """Ask a server of an app, which answers who may ask."""
    with asked((an_app(path), COUNTS), settings=given, **limits) as ask:
        assert ask(KEY).status == 200
        yield ask
