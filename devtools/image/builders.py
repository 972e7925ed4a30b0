"""Docker or Buildah: each builds deploy/Dockerfile, and runs commands in the result."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devtools.servers.docker import why_docker_is_silent
from devtools.workspace import ROOT

__all__ = ("Builder", "Image", "ImageError", "builder")

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
_TAG = "kstreams:check"
_BUILD_S = 1800
_RUN_S = 300
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PIP_CONF = "[global]\ncert = /etc/ssl/machine.crt\n"
_MOUNTED = """
set -eu
touch "$1/etc/hosts"
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind /etc/hosts "$1/etc/hosts"
root=$1
user=$2
shift 2
exec chroot --userspec="$user" "$root" "$@"
"""


class ImageError(Exception):
    """The image cannot be built, or a command cannot start in it."""


class Image(ABC):
    """A built image. Its containers have a read-only root file system, and a writable /tmp."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """The image's configuration by Docker's names: User, Env, Entrypoint, Healthcheck, ..."""

    @abstractmethod
    def run(
        self, *command: str, variables: Mapping[str, str] | None = None, given: str = ""
    ) -> tuple[int, str]:
        """Run a command in a new container, and return its exit code and output.

        Args:
            command: The arguments of the entry point.
            variables: Additional environment variables.
            given: The standard input.
        """

    @abstractmethod
    def remove(self) -> None:
        """Delete the image."""


class Builder(ABC):
    """A program that builds images.

    Attributes:
        name: The program with its base image.
    """

    name: str

    @abstractmethod
    def build(self) -> Image:
        """Build deploy/Dockerfile.

        Raises:
            ImageError: A step fails.
        """


def builder(scratch: Path) -> Builder:
    """Return Docker if it answers, otherwise Buildah.

    Args:
        scratch: An empty folder for Buildah's images.

    Raises:
        ImageError: This machine has neither of them.
    """
    silence = why_docker_is_silent()
    if not silence:
        return _Docker()
    lacking = [each for each in ("buildah", "mmdebstrap") if shutil.which(each) is None]
    if os.geteuid() != 0:
        lacking.append("root")
    if lacking:
        raise ImageError(
            f"Docker does not answer ({silence}), and Buildah lacks: {', '.join(lacking)}\n"
            "Hint: start Docker, or as root: apt-get install buildah mmdebstrap"
        )
    return _Buildah(scratch)


class _Docker(Builder):
    name = "Docker"

    def build(self) -> Image:
        _run("docker", "build", "--file", str(DOCKERFILE), "--tag", _TAG, str(ROOT))
        return _DockerImage()


class _DockerImage(Image):
    @property
    def settings(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(_run("docker", "image", "inspect", _TAG))[0]["Config"]
        return found

    def run(
        self, *command: str, variables: Mapping[str, str] | None = None, given: str = ""
    ) -> tuple[int, str]:
        options = [f"--env={name}={value}" for name, value in (variables or {}).items()]
        options += ["--rm", "--interactive", "--read-only", "--tmpfs=/tmp:exec,mode=1777"]
        return _answer(["docker", "run", *options, _TAG, *command], given)

    def remove(self) -> None:
        _run("docker", "image", "rm", "--force", _TAG)


class _Buildah(Builder):
    name = "Buildah, in a base image of Debian's packages"

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        storage = ("--root", str(scratch / "images"), "--runroot", str(scratch / "running"))
        self._buildah = ("buildah", *storage, "--storage-driver", "vfs")

    def build(self) -> Image:
        for base in {*re.findall(r"(?m)^FROM (\S+/debian:\S+)", DOCKERFILE.read_text())}:
            self._make_base(base)
        options = ["--isolation", "chroot", "--format", "docker", "--pull-never", "--tag", _TAG]
        options += ["--ignorefile", f"{DOCKERFILE}.dockerignore"]
        _run(*self._buildah, "bud", *options, "--file", str(DOCKERFILE), str(ROOT))
        return _BuildahImage(self._buildah)

    def _make_base(self, tag: str) -> None:
        """Make a base image like Debian's own: the essential packages, without manuals."""
        archive = self._scratch / "base.tar"
        options = ["--variant=minbase", "--dpkgopt=path-exclude=/usr/share/man/*", "--quiet"]
        _run("mmdebstrap", *options, "--include=ca-certificates", "bookworm", str(archive))
        container = _run(*self._buildah, "from", "scratch").strip()
        _run(*self._buildah, "add", "--quiet", container, str(archive), "/")
        if _CERTIFICATES.exists():  # this machine's package index may have its own authority
            conf = self._scratch / "pip.conf"
            conf.write_text(_PIP_CONF)
            copied = {_CERTIFICATES: "/etc/ssl/machine.crt", conf: "/etc/pip.conf"}
            for source, target in copied.items():
                _run(*self._buildah, "add", "--quiet", container, str(source), target)
        _run(*self._buildah, "commit", "--quiet", "--rm", container, tag)
        archive.unlink()


class _BuildahImage(Image):
    def __init__(self, buildah: Sequence[str]) -> None:
        self._buildah = buildah
        self._container = _run(*buildah, "from", "--pull-never", f"localhost/{_TAG}").strip()
        self._root = _run(*buildah, "mount", self._container).strip()

    @property
    def settings(self) -> Mapping[str, Any]:
        found = json.loads(_run(*self._buildah, "inspect", self._container))
        settings: Mapping[str, Any] = found["Docker"]["config"]
        return settings

    def run(
        self, *command: str, variables: Mapping[str, str] | None = None, given: str = ""
    ) -> tuple[int, str]:
        settings = self.settings
        given_variables = [f"{name}={value}" for name, value in (variables or {}).items()]
        inside = ["env", "-i", "--chdir", settings["WorkingDir"], *settings["Env"]]
        inside += [*given_variables, *settings["Entrypoint"], *command]
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        outside = [*spaces, "sh", "-c", _MOUNTED, "sh", self._root, settings["User"]]
        return _answer([*outside, *inside], given)

    def remove(self) -> None:
        _run(*self._buildah, "rm", self._container)


def _run(*command: str) -> str:
    """Run a program of the build, and return its standard output."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_BUILD_S, check=False, cwd=ROOT
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise ImageError(f"{' '.join(command[:1])} ended with {done.returncode}:\n{said}")
    return done.stdout


def _answer(command: Sequence[str], given: str) -> tuple[int, str]:
    done = subprocess.run(
        command,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_RUN_S,
        check=False,
    )
    return done.returncode, done.stdout
