"""Creates `.venv` from the locked packages: `make setup`.

Uses only the standard library. Each step writes a stamp with the digest of its inputs, so a second
call does nothing, and a changed lock repeats only the affected steps. A failed step writes no stamp
and runs again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator, NoReturn, Sequence

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("KSTREAMS_VENV") or ROOT / ".venv").absolute()
STAMPS = VENV / ".setup"
LOG = STAMPS / "log.txt"
LOCK = ROOT / "requirements" / "lock.txt"
JAVA_LOCK = ROOT / "requirements" / "java.txt"
NATIVE = ROOT / "native"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

OLDEST_JAVA, NEWEST_JAVA = 17, 23  # as in kstreams/spark/startup/java.py; a test compares
HEARTBEAT_SECONDS = 20
INSTALLERS = ("uv", "setuptools", "wheel", "packaging")
PIP_OPTIONS = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")


def main() -> None:
    if sys.version_info < (3, 10):  # called directly, not through setup.sh
        fail("Python 3.10 or later is required, but this is Python %d.%d." % sys.version_info[:2])
    with one_at_a_time():
        java = find_java()
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        lock = digest(python, LOCK.read_bytes())
        steps: list[tuple[str, str, Callable[[], None]]] = [
            ("venv", digest(python, str(ROOT)), make_venv),
            ("lock", lock, install_lock),
            ("project", project_digest(lock), install_project),
            ("native", native_digest(lock), install_native),
            ("java", digest(java or JAVA_LOCK.read_bytes()), lambda: provide_java(java)),
        ]
        started = time.monotonic()
        done = 0
        for name, key, step in steps:
            stamp = STAMPS / name
            if VENV_PYTHON.exists() and stamp.is_file() and stamp.read_text() == key:
                continue
            step()
            STAMPS.mkdir(parents=True, exist_ok=True)
            stamp.write_text(key)
            done += 1
    if done:
        say(f"done in {time.monotonic() - started:.0f} s: {VENV}")


def make_venv() -> None:
    """Create an empty environment; use the host's pip if Python lacks `ensurepip`."""
    say(f"creating {VENV} with Python {sys.version.split()[0]} ({sys.executable})")
    shutil.rmtree(VENV, ignore_errors=True)
    STAMPS.mkdir(parents=True)
    if call([sys.executable, "-m", "venv", str(VENV)]) == 0:
        return
    say("this Python cannot create an environment with pip; using the host's pip")
    if call([sys.executable, "-m", "venv", "--without-pip", str(VENV)]) == 0:
        into_venv = [sys.executable, "-m", "pip", "--python", str(VENV_PYTHON)]
        if call([*into_venv, "install", "--quiet", "pip"]) == 0:
            return
    fail(
        f"{sys.executable} cannot create a virtual environment.",
        "install its venv module (on Debian and Ubuntu: apt install python3-venv), "
        "or name another Python: make setup PYTHON=/path/to/python3",
    )


def install_lock() -> None:
    """Install the packages of requirements/lock.txt, and accept only the hashes in it."""
    say("installing the locked packages (takes minutes without a cache: Spark has 450 MB)")
    if not install_lock_with_uv():
        pip(["install", "--require-hashes", "--requirement", str(LOCK)])


def install_lock_with_uv() -> bool:
    """Install the lock in half of pip's time; False if uv has no wheel here or fails.

    Spark is a source distribution: its build requirements are locked, too, so nothing else is
    downloaded. uv's cache is deleted: it does not avoid the build of Spark (uv 0.13, with hash
    checks), and would leave 2.5 GB behind each time.
    """
    tools = STAMPS / "tools.txt"
    tools.write_text("".join(locked(LOCK.read_text(), name) for name in INSTALLERS))
    install = [str(VENV_PYTHON), "-m", "pip", "install", *PIP_OPTIONS, "--only-binary", ":all:"]
    if call([*install, "--no-deps", "--require-hashes", "--requirement", str(tools)]) != 0:
        return False
    cache = STAMPS / "cache"  # on the environment's disk, so that files can be linked
    uv = [str(VENV_PYTHON), "-m", "uv", "--no-config", "--system-certs", "--cache-dir", str(cache)]
    uv += ["pip", "install", "--python", str(VENV_PYTHON), "--no-build-isolation"]
    try:
        if call([*uv, "--require-hashes", "--requirement", str(LOCK)]) == 0:
            return True
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    say("uv failed; using pip")
    return False


def locked(lock: str, name: str) -> str:
    """Return the entry of one package in a lock: its version and its hashes."""
    entry = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*\n?", lock, re.MULTILINE)
    return entry.group(0) if entry else ""


def install_project() -> None:
    """Install the packages of this repository, editable.

    The installation needs no network, because the lock file contains their build backend.
    """
    say("installing kstreams-spark and its plugins, editable")
    options = ["--no-deps", "--no-build-isolation"]
    options += [f"--editable={file.parent}" for file in project_files()]
    uv = [str(VENV_PYTHON), "-m", "uv", "--no-config", "--no-cache", "--offline", "pip", "install"]
    if call([*uv, "--python", str(VENV_PYTHON), *options]) != 0:
        pip(["install", "--no-index", *options])  # six times slower
    removed = removed_projects()
    if removed:
        call([str(VENV_PYTHON), "-m", "pip", "uninstall", "--yes", *removed])


def removed_projects() -> list[str]:
    """Return the installed packages whose folder is no longer in this tree."""
    found = VENV.glob("lib/python*/site-packages/kstreams_*.dist-info")
    installed = {path.name.partition("-")[0] for path in found}
    present = {file.parent.name for file in project_files()[1:]}
    return sorted(installed - present - {"kstreams_spark", "kstreams_kafka_native"})


def project_files() -> list[Path]:
    """Return the pyproject.toml of each package of this tree; as in devtools/workspace.py."""
    return [ROOT / "pyproject.toml", *sorted(ROOT.glob("*/kstreams_*/pyproject.toml"))]


def project_digest(lock: str) -> str:
    files = [*project_files(), ROOT / "devtools" / "workspace.py"]
    names = [str(file.relative_to(ROOT)) for file in files]
    return digest(lock, *names, *(file.read_bytes() for file in files))


def install_native() -> None:
    """Compile and install the loops for Kafka; the library also works without them."""
    say("compiling the loops between Kafka and Arrow")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--force-reinstall", *PIP_OPTIONS]
    if call([str(VENV_PYTHON), "-m", "pip", "install", *options, str(NATIVE)]) != 0:
        say(
            f"no C compiler here, or it fails ({LOG} says why): records pass through Python, slower"
        )


def native_digest(lock: str) -> str:
    sources = sorted(path for path in NATIVE.rglob("*") if path.suffix in (".c", ".py", ".toml"))
    compilers = [str(shutil.which(name)) for name in ("cc", "clang")]
    compilers += map(str, VENV.glob("lib/python*/site-packages/ziglang"))
    return digest(lock, *compilers, *(path.read_bytes() for path in sources))


def provide_java(found: str | None) -> None:
    """Install a Java runtime as a wheel unless JAVA_HOME or PATH contains a suitable one."""
    if found:
        say(f"Spark will run on {found}")
        return
    say(f"no Java {OLDEST_JAVA} to {NEWEST_JAVA} here: installing one as a wheel")
    pip(["install", "--require-hashes", "--requirement", str(JAVA_LOCK)])


def find_java() -> str | None:
    """Return the path of a Java that Spark runs on; None if there is none.

    The result is cached by its inputs, because a JVM starts slowly.
    """
    home = os.environ.get("JAVA_HOME")
    named = [str(Path(home) / "bin" / "java")] if home else []
    candidates = [java for java in (*named, shutil.which("java")) if java]
    seen = [[java, os.path.realpath(java)] for java in candidates]
    remembered = STAMPS / "found-java.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = json.loads(remembered.read_text())
        if kept["seen"] == seen and (not kept["java"] or Path(kept["java"]).exists()):
            return str(kept["java"]) if kept["java"] else None
    java = next((java for java in candidates if runs_spark(java)), None)
    if STAMPS.is_dir():
        remembered.write_text(json.dumps({"seen": seen, "java": java}))
    return java


def runs_spark(java: str) -> bool:
    """Return whether `java` has a supported version and accepts the option that Spark passes."""
    command = [java, "--add-modules=jdk.incubator.vector", "-version"]
    try:
        answer = subprocess.run(  # noqa: S603  # a local Java with an option
            command, check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return False
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    version = int(match.group(1)) if match and answer.returncode == 0 else 0
    return OLDEST_JAVA <= version <= NEWEST_JAVA


def pip(arguments: Sequence[str]) -> None:
    status = call([str(VENV_PYTHON), "-m", "pip", *arguments, *PIP_OPTIONS])
    if status != 0:
        lines = LOG.read_text(errors="replace").splitlines()
        print("\n".join(lines[-25:]), file=sys.stderr)
        fail(
            f"pip ended with status {status}; its last lines are above, all of them in {LOG}.",
            hint(lines),
        )


def hint(log: Sequence[str]) -> str:
    """Return a hint about a failed installation, based on pip's output."""
    text = "\n".join(log)
    network = (
        "NewConnectionError",
        "Failed to establish",
        "Name or service",
        "ConnectTimeout",
        "resolution",
    )
    if any(word in text for word in network) or "SSLError" in text:
        return "the package index cannot be reached: check the network and `pip config list`."
    if "DO NOT MATCH THE HASHES" in text:
        return "a package differs from the locked one: check which package index pip uses."
    if "No space left" in text:
        return "the disk is full: the installation needs 4 GB, of which the environment keeps 2 GB."
    return "run `make setup` again to continue from here."


def call(command: Sequence[str]) -> int:
    """Run a command, with its output in the log; print a line now and then if it takes long."""
    started = time.monotonic()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
    STAMPS.mkdir(parents=True, exist_ok=True)
    with LOG.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  # a command of this file
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
        )
        while True:
            try:
                return process.wait(HEARTBEAT_SECONDS)
            except subprocess.TimeoutExpired:
                say(f"  still running ({time.monotonic() - started:.0f} s)")
            except BaseException:
                process.terminate()
                process.wait()
                raise


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Make concurrent calls in the same tree wait for each other."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with Path(__file__).open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another setup is running in this tree; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def digest(*parts: str | bytes) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode() if isinstance(part, str) else part)
        sha.update(b"\0")
    return sha.hexdigest()


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def fail(text: str, advice: str = "") -> NoReturn:
    print(f"setup: error: {text}", file=sys.stderr)
    if advice:
        print(f"setup: hint: {advice}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail("interrupted; run `make setup` again to continue from here.")
