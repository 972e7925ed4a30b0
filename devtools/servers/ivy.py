"""Downloads jars with the Ivy that PySpark ships.

Spark itself uses this Ivy for `spark.jars.packages`; direct use needs no Maven and no session.
Repositories are Ivy's default ones, or those in the settings file that `KSTREAMS_IVY_SETTINGS`
names. All files are stored under `cache_folder`, never in the user's Ivy home.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

import pyspark

from devtools.servers.run_program import run_program
from kstreams.errors import ExecutionError
from kstreams.files import cache_folder
from kstreams.spark.startup.java import java_home

__all__ = ("Artifact", "JarResolutionError", "cache_folder", "resolve")

_PATTERN = "[artifact]-[revision](-[classifier]).[ext]"
_TIMEOUT_S = 900
_SHOWN_LINES = 15
_ALONE = """<ivysettings><settings defaultResolver="public"/><resolvers>
<ibiblio name="public" m2compatible="true" usepoms="false"/></resolvers></ivysettings>
"""
"""Settings for files without dependencies: no descriptors and no parent descriptors are read."""
_UNRESOLVED = re.compile(r":: ([^\s#]+)#([^\s;]+);(\S+): not found")


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file by its Maven coordinates; by default a jar."""

    organisation: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    @property
    def file_name(self) -> str:
        """The file name in the folder."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.name}:{self.version}"


class JarResolutionError(ExecutionError):
    """Jars could not be downloaded; the target folder was not created.

    Attributes:
        artifacts: The requested artifacts.
        missing: The artifacts that no repository has; empty if a repository did not answer.
        output: The output of Ivy.
    """

    def __init__(
        self,
        message: str,
        *,
        artifacts: tuple[Artifact, ...] = (),
        missing: tuple[Artifact, ...] = (),
        output: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.artifacts = artifacts
        self.missing = missing
        self.output = output


def resolve(artifacts: Sequence[Artifact], into: Path, *, transitive: bool) -> tuple[Path, ...]:
    """Return the files of these artifacts, downloading them unless the folder exists.

    The folder is created atomically, so its existence means that an earlier call succeeded. Several
    processes may call at once: one downloads, the others wait.

    Args:
        artifacts: The artifacts to download, at least one.
        into: The target folder, used only for these files; its parents are created.
        transitive: Whether to download the artifacts' dependencies, too.

    Returns:
        The files in the folder, sorted by name; at least one.

    Raises:
        JarResolutionError: No repository has an artifact, the network does not answer, or PySpark
            lacks Ivy. It is safe to call again.
        JavaNotFoundError: Java, which runs Ivy, is not installed.
    """
    if not into.is_dir():
        with _locked(cache_folder() / "ivy"):
            if not into.is_dir():
                _download(tuple(artifacts), into, transitive)
    return tuple(sorted(into.iterdir()))


def _download(artifacts: tuple[Artifact, ...], into: Path, transitive: bool) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{into.name}-", dir=into.parent))
    try:
        jars = scratch / "jars"
        jars.mkdir()
        wanted = scratch / "ivy.xml"
        wanted.write_text(_ivy_file(artifacts, transitive), encoding="utf-8")
        alone = scratch / "settings.xml"
        alone.write_text(_ALONE, encoding="utf-8")
        _run_ivy(artifacts, wanted, jars, None if transitive else alone)
        lacking = tuple(a for a in artifacts if not (jars / a.file_name).is_file())
        if lacking:
            raise _failure(artifacts, lacking, "", "Ivy succeeded without these jars")
        jars.rename(into)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_ivy(
    artifacts: tuple[Artifact, ...], wanted: Path, jars: Path, settings_else: Path | None
) -> None:
    settings = os.environ.get("KSTREAMS_IVY_SETTINGS") or settings_else
    command = [
        str(java_home() / "bin" / "java"),
        f"-Divy.home={cache_folder() / 'ivy'}",
        *_proxy_properties(os.environ),
        *("-cp", str(_ivy_jar()), "org.apache.ivy.Main", "-warn"),
        *(("-settings", str(settings)) if settings else ()),
        *("-ivy", str(wanted), "-confs", "default", "-retrieve", f"{jars}/{_PATTERN}"),
    ]
    try:
        status, said = run_program(command, timeout_s=_TIMEOUT_S)
    except subprocess.TimeoutExpired as exc:
        raise _failure(artifacts, (), "", f"Ivy took longer than {_TIMEOUT_S} s") from exc
    except OSError as exc:
        raise _failure(artifacts, (), "", f"Java does not start: {exc}") from exc
    if status:
        # An unreachable repository may have the artifact.
        reached = "Server access error" not in said
        unresolved = {found.groups() for found in _UNRESOLVED.finditer(said) if reached}
        missing = tuple(a for a in artifacts if (a.organisation, a.name, a.version) in unresolved)
        raise _failure(artifacts, missing, said, f"Ivy ended with {status}")


def _ivy_file(artifacts: tuple[Artifact, ...], transitive: bool) -> str:
    lines = "".join(
        f"<dependency org={quoteattr(a.organisation)} name={quoteattr(a.name)} "
        f'rev={quoteattr(a.version)} transitive="{str(transitive).lower()}" '
        f'conf="default->default">{_file_of(a)}</dependency>\n'
        for a in artifacts
    )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">\n'
        '<info organisation="kstreams" module="jars"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{lines}</dependencies></ivy-module>\n"
    )


def _file_of(artifact: Artifact) -> str:
    """Return Ivy's attributes of the file if it is not the artifact's jar."""
    if (artifact.classifier, artifact.extension) == ("", "jar"):
        return ""
    kind = quoteattr(artifact.extension)
    return (
        f"<artifact name={quoteattr(artifact.name)} type={kind} ext={kind} "
        f"m:classifier={quoteattr(artifact.classifier)}/>"
    )


def _ivy_jar() -> Path:
    homes = (Path(pyspark.__file__).parent, Path(os.environ.get("SPARK_HOME") or "/nonexistent"))
    for home in homes:
        if found := sorted((home / "jars").glob("ivy-*.jar")):
            return found[-1]
    raise JarResolutionError(
        f"there is no ivy-*.jar among the jars of PySpark in {homes[0]}",
        hint="install pyspark whole, not pyspark-client, or set SPARK_HOME.",
    )


def _proxy_properties(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the usual proxy variables as the equivalent Java properties."""
    for scheme in ("http", "https"):
        value = environment.get(f"{scheme}_proxy") or environment.get(f"{scheme.upper()}_PROXY")
        proxy = urlsplit(value if value and "://" in value else f"//{value or ''}")
        if proxy.hostname:
            yield f"-D{scheme}.proxyHost={proxy.hostname}"
            yield f"-D{scheme}.proxyPort={proxy.port or 80}"
    direct = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = [host.strip() for host in direct.split(",") if host.strip()]
    if hosts:
        patterns = "|".join(f"*{host}" if host.startswith(".") else host for host in hosts)
        yield f"-Dhttp.nonProxyHosts={patterns}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the operating system releases it even if this process is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _failure(
    artifacts: tuple[Artifact, ...], missing: tuple[Artifact, ...], output: str, reason: str
) -> JarResolutionError:
    wanted = ", ".join(str(artifact) for artifact in missing or artifacts)
    spoken = [
        line.strip()
        for line in output.splitlines()
        if re.search(r"\w", line) and not line.startswith(".")
    ]
    said = "".join(f"\n  {line}" for line in spoken[-_SHOWN_LINES:])
    return JarResolutionError(
        f"cannot download {wanted}: {reason}" + (f"; it last said:{said}" if said else ""),
        artifacts=artifacts,
        missing=missing,
        output=output,
        hint="check the network and the proxy variables, or name a mirror in an Ivy settings "
        "file by KSTREAMS_IVY_SETTINGS.",
    )
