"""Installs a release in clean environments, with each extra, and tries it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from devtools.release.environments import Environment, clean_environment
from devtools.release.progress import ReleaseError, run, say
from devtools.release.tutorial import follow_tutorial, tutorial_requirements

__all__ = ("Trial", "import_seconds", "try_extras", "try_tutorial")

_PROBE = Path(__file__).with_name("probe.py")
_COUNT = """
from kstreams import INT64, TEXT, Topic
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver

visits, totals = Topic("visits", key=TEXT, value=TEXT), Topic("totals", key=TEXT, value=INT64)
streams = Streams("visits")
streams.stream(visits).group_by_key().count().to(totals)
with TopologyTestDriver(streams.build(), partitions=2) as driver:
    driver.pipe(visits, "/home", "ann")
    driver.pipe(visits, "/home", "bob")
    assert driver.read_values(totals) == {"/home": 2}
"""
"""A first topology, which needs no extra."""


class Trial(NamedTuple):
    """An installation that worked.

    Attributes:
        python: The version of Python.
        extra: The extra; empty for none, `tutorial` for the tutorial.
        seconds: The duration of the installation and the trial.
        packages: The number of installed packages of this project.
        compiled: Whether the compiled loops for Kafka are installed.
        import_ms: The time of `import kstreams`, in milliseconds; None if it is not measured.
    """

    python: str
    extra: str
    seconds: float
    packages: int
    compiled: bool
    import_ms: float | None = None


def try_extras(
    python: str, program: Path, index: str, version: str, extras: Sequence[str]
) -> Iterator[Trial]:
    """Install the core with each extra in an environment of its own, and import all packages.

    Args:
        python: The version of Python.
        program: The Python.
        index: The address of the local index.
        version: The version of the release.
        extras: The extras; the empty text is the core alone, whose import is measured.

    Raises:
        ReleaseError: An installation or an import fails.
    """
    for extra in extras:
        started = time.monotonic()
        wanted = f"kstreams-spark[{extra}]=={version}" if extra else f"kstreams-spark=={version}"
        with clean_environment(f"{python}-{extra or 'core'}", program, index) as environment:
            environment.install([wanted])
            found = _probe(environment, version, extra)
            seconds = None if extra else import_seconds(environment)
            if not extra:
                environment.run(_COUNT, f"count visits on Python {python}")
        took = time.monotonic() - started
        milliseconds = None if seconds is None else round(seconds * 1000, 1)
        trial = Trial(python, extra, took, found["packages"], bool(found["compiled"]), milliseconds)
        say(f"  {python} {extra or 'without an extra'}: {took:.1f} s")
        yield trial
        if extra in ("kafka", "all") and not trial.compiled:
            raise ReleaseError(f"the extra {extra} installed no compiled loops on Python {python}")


def try_tutorial(python: str, program: Path, index: str, version: str) -> Trial:
    """Install the requirements of the tutorial with pip, and follow the tutorial.

    Raises:
        ReleaseError: The installation or a step of the tutorial fails.
    """
    started = time.monotonic()
    wanted = [
        f"{each}=={version}" if each.startswith("kstreams-spark") else each
        for each in tutorial_requirements()
    ]
    with clean_environment(f"{python}-tutorial", program, index, pip=True) as environment:
        environment.install_with_pip(wanted)
        found = _probe(environment, version, "")
        commands = follow_tutorial(environment.folder / "work", environment.variables)
    took = time.monotonic() - started
    say(f"  {python} tutorial: {commands} commands, {took:.1f} s")
    return Trial(python, "tutorial", took, found["packages"], bool(found["compiled"]))


def import_seconds(environment: Environment, rounds: int = 7) -> float:
    """Return the median time of `import kstreams` in a new process, without Python's own start."""
    script = "import time; t = time.perf_counter(); import kstreams; print(time.perf_counter() - t)"
    environment.run(script, "import kstreams")  # fills the disk cache
    return median(float(environment.run(script, "import kstreams")) for _ in range(rounds))


def _probe(environment: Environment, version: str, extra: str) -> dict[str, int]:
    command = [environment.python, _PROBE, version, extra]
    what = f"import all packages of the extra {extra or '(none)'}"
    printed = run(command, what, cwd=environment.folder / "work", env=environment.variables)
    found: dict[str, int] = json.loads(printed.splitlines()[-1])
    return found
