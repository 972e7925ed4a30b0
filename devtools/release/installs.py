"""Installs a release in clean environments, with each extra, and tries it."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from devtools.release.environments import Environment, clean_environment
from devtools.release.progress import ReleaseError, run, say
from devtools.release.tutorial import follow_tutorial, tutorial_requirements

__all__ = ("Trial", "import_seconds", "try_extra", "try_tutorial")

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
    """An installation, and its use.

    Attributes:
        python: The version of Python.
        extra: The extra; empty for none, `tutorial` for the tutorial.
        seconds: The duration of the installation and the trial.
        import_ms: The time of `import kstreams`, in milliseconds; None if it is not measured.
        problem: The reason of a failure; empty after a success.
    """

    python: str
    extra: str
    seconds: float
    import_ms: float | None = None
    problem: str = ""


def try_extra(python: str, program: Path, index: str, version: str, extra: str) -> Trial:
    """Install the core with an extra in an environment of its own, and import all packages.

    Args:
        python: The version of Python.
        program: The Python.
        index: The address of the local index.
        version: The version of the release.
        extra: The extra. The empty text is the core alone: its import is measured, and it runs a
            topology.
    """
    wanted = f"kstreams-spark[{extra}]=={version}" if extra else f"kstreams-spark=={version}"
    started = time.monotonic()
    milliseconds, problem = None, ""
    try:
        with clean_environment(f"{python}-{extra or 'core'}", program, index) as environment:
            environment.install([wanted])
            _probe(environment, version, extra)
            if not extra:
                milliseconds = round(import_seconds(environment) * 1000, 1)
                environment.run(_COUNT, f"count visits on Python {python}")
    except ReleaseError as exc:
        problem = str(exc)
    return _said(Trial(python, extra, time.monotonic() - started, milliseconds, problem))


def try_tutorial(python: str, program: Path, index: str, version: str) -> Trial:
    """Install the requirements of the tutorial with pip, and follow the tutorial.

    Args:
        python: The version of Python.
        program: The Python.
        index: The address of the local index.
        version: The version of the release.
    """
    wanted = [
        f"{each}=={version}" if each.startswith("kstreams-spark") else each
        for each in tutorial_requirements()
    ]
    started = time.monotonic()
    problem = ""
    try:
        with clean_environment(f"{python}-tutorial", program, index, pip=True) as environment:
            environment.install_with_pip(wanted)
            _probe(environment, version, "")
            follow_tutorial(environment.folder / "work", environment.variables)
    except ReleaseError as exc:
        problem = str(exc)
    return _said(Trial(python, "tutorial", time.monotonic() - started, problem=problem))


def import_seconds(environment: Environment, rounds: int = 7) -> float:
    """Return the median time of `import kstreams` in a new process, without Python's own start."""
    script = "import time; t = time.perf_counter(); import kstreams; print(time.perf_counter() - t)"
    environment.run(script, "import kstreams")  # fills the disk cache
    return median(float(environment.run(script, "import kstreams")) for _ in range(rounds))


def _probe(environment: Environment, version: str, extra: str) -> None:
    run(
        [environment.python, _PROBE, version, extra],
        f"import all packages of the extra {extra or '(none)'}",
        cwd=environment.folder / "work",
        env=environment.variables,
    )


def _said(trial: Trial) -> Trial:
    """Print the result of a trial, and return it."""
    outcome = f"failed: {trial.problem}" if trial.problem else "works"
    say(f"  {trial.python} {trial.extra or '(core)'}: {outcome}, {trial.seconds:.1f} s")
    return trial
