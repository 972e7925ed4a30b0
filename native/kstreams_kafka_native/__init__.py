"""The compiled loops between librdkafka and Arrow: a shared library, and its version."""

from __future__ import annotations

import ctypes
from pathlib import Path

__all__ = ("VERSION", "load")

VERSION = 1
"""The version of the library's functions, incremented with each change of their signatures."""


def load() -> ctypes.CDLL:
    """Load the library; its functions run without the GIL, so other threads run meanwhile.

    Raises:
        OSError: The library was not compiled, or was compiled for another platform.
    """
    return ctypes.CDLL(str(Path(__file__).with_name("kernel.so")))
