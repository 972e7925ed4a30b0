"""The compiled loops between librdkafka and Arrow: a shared library, and its version."""

from __future__ import annotations

import ctypes
from pathlib import Path

__all__ = ("VERSION", "load")

VERSION = 1
"""Of the calls; raised with each change of them."""


def load() -> ctypes.CDLL:
    """Load the library; calls of it let other threads run.

    Raises:
        OSError: It was not compiled, or for another platform.
    """
    return ctypes.CDLL(str(Path(__file__).with_name("kernel.so")))
