"""The C extension, compiled with a fake librdkafka under the address and undefined sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_KERNEL = ROOT / "native" / "kstreams_kafka_native" / "kernel.c"
_FAKE = Path(__file__).with_name("fake_librdkafka.c")
_FLAGS = (
    *("-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)


class NoSanitizerError(Exception):
    """No compiler with sanitizers is available; the text gives the reason."""


def compiled(folder: Path) -> tuple[Path, dict[str, str]]:
    """Compile both; return the library, and the environment of a process that may load it.

    Raises:
        NoSanitizerError: There is no compiler, or it has no sanitizers.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoSanitizerError("there is no cc here")
    made = folder / "sanitized.so"
    # One file each: both define rd_kafka_message_t, and neither may see the other's.
    command = [compiler, *_FLAGS, "-o", str(made), str(_KERNEL), str(_FAKE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    runtime = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not Path(runtime).is_absolute():  # the compiler works, but has no sanitizer runtime
        raise NoSanitizerError(f"{compiler} has no shared library of the address sanitizer")
    if done.returncode:
        raise RuntimeError(f"the kernel does not compile with sanitizers:\n{done.stderr}")
    # Python loads the library late, so that the sanitizer must be loaded before. Memory that Python
    # itself leaves at its exit does not count: the fake counts unfreed objects.
    options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    return made, {**os.environ, **options, "LD_PRELOAD": runtime}
