"""The jars of Spark's Kafka connector, downloaded without Maven and without a session."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyspark

from devtools.servers.ivy import Artifact, JarResolutionError, resolve
from kstreams.files import cache_folder

__all__ = ("kafka_connector_jars",)

_SPARK = "org.apache.spark"
_CONNECTOR = "spark-sql-kafka-0-10_2.13"
_TOKENS = "spark-token-provider-kafka-0-10_2.13"

_FALLBACKS_4_1 = {_CONNECTOR: ("4.1.3",), _TOKENS: ("4.0.0",)}
_FALLBACKS = {_CONNECTOR: ("4.2.0",), _TOKENS: ("4.2.0",)}
"""Versions to try if a repository lacks that of PySpark, for 4.1 and for later series."""

_LIBRARIES = (
    Artifact("org.apache.kafka", "kafka-clients", "3.9.1"),
    Artifact("org.apache.commons", "commons-pool2", "2.12.1"),
)
"""Dependencies of the connector that Spark does not ship."""


def kafka_connector_jars() -> tuple[Path, ...]:
    """Return the jars that let this PySpark read and write Kafka, for `spark.jars`.

    Downloads the jars into the library's cache at the first call on a machine (about 10 MB, some 10
    s), and reads them from the cache afterwards. The connector has PySpark's version if the
    repository has that version, else a close one. If `KSTREAMS_KAFKA_JARS` names a folder, the jars
    of that folder are returned unchanged instead. Runs on the driver; safe to call from several
    processes at once.

    Returns:
        The jars sorted by name; at least one.

    Raises:
        JarResolutionError: The jars cannot be downloaded, or the folder in `KSTREAMS_KAFKA_JARS`
            contains none.
    """
    if own := os.environ.get("KSTREAMS_KAFKA_JARS"):
        return _jars_of(Path(own).expanduser().absolute())
    version = pyspark.__version__
    wanted = (Artifact(_SPARK, _CONNECTOR, version), Artifact(_SPARK, _TOKENS, version))
    fallbacks = _fallbacks(version)
    mark = zlib.crc32(repr((wanted, fallbacks, _LIBRARIES)).encode())
    into = cache_folder() / "jars" / f"spark-kafka-{version}-{mark:08x}"
    try:
        return _resolve_nearest((*wanted, *_LIBRARIES), fallbacks, into)
    except JarResolutionError as error:
        error.hint = (
            f"{error.hint} Or set KSTREAMS_KAFKA_JARS to a folder of these jars, or configure "
            f"the session with spark.jars.packages={_SPARK}:{_CONNECTOR}:{version} yourself."
        )
        raise


def _fallbacks(pyspark_version: str) -> Mapping[str, Sequence[str]]:
    return _FALLBACKS_4_1 if pyspark_version.startswith("4.1.") else _FALLBACKS


def _resolve_nearest(
    wanted: tuple[Artifact, ...], fallbacks: Mapping[str, Sequence[str]], into: Path
) -> tuple[Path, ...]:
    """Resolve artifacts; replace a missing one by its next fallback while there is one."""
    untried = {name: [*versions] for name, versions in fallbacks.items()}
    while True:
        try:
            return resolve(wanted, into, transitive=False)
        except JarResolutionError as error:
            if not error.missing:
                raise
            nearer = {a: _next_version(a, untried.get(a.name, [])) for a in error.missing}
            if None in nearer.values():
                raise
            wanted = tuple(nearer.get(artifact) or artifact for artifact in wanted)


def _next_version(artifact: Artifact, untried: list[str]) -> Artifact | None:
    while untried:
        version = untried.pop(0)
        if version != artifact.version:
            return replace(artifact, version=version)
    return None


def _jars_of(folder: Path) -> tuple[Path, ...]:
    jars = tuple(sorted(folder.glob("*.jar")))
    if not jars:
        raise JarResolutionError(
            f"KSTREAMS_KAFKA_JARS names {folder}, which has no *.jar",
            hint=f"put {_CONNECTOR}, {_TOKENS}, kafka-clients and commons-pool2 there, "
            "or unset the variable.",
        )
    return jars
