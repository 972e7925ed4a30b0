"""The properties of the machine that runs a benchmark."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

__all__ = ("machine",)


def machine() -> dict[str, Any]:
    """Return the CPU, the number of cores, the version of Python and the current load."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
