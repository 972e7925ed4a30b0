"""Spark's settings of speculative execution, applied to the pool of workers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kstreams.workers.slow_workers import Speculation

if TYPE_CHECKING:
    from pyspark import SparkConf

__all__ = ("speculation_of",)

_SECONDS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def speculation_of(conf: SparkConf) -> Speculation | None:
    """Return Spark's settings `spark.speculation...`; None if speculation is disabled."""
    if (conf.get("spark.speculation") or "false").lower() != "true":
        return None
    usual = Speculation()
    return Speculation(
        float(conf.get("spark.speculation.quantile") or usual.quantile),
        float(conf.get("spark.speculation.multiplier") or usual.multiplier),
        _seconds(conf.get("spark.speculation.minTaskRuntime") or "", usual.min_runtime_s),
    )


def _seconds(text: str, usual: float) -> float:
    """Return a duration in Spark's format, such as `200ms`, in seconds; `usual` if invalid."""
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _SECONDS:
        return usual
    return int(found[1]) * _SECONDS[found[2]]
