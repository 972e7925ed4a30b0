"""Metrics as text: in Prometheus' format, or in OpenMetrics for clients that request it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from kstreams.quoting import safe_text

__all__ = ("OPENMETRICS", "PROMETHEUS", "Family", "exposition")

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_LONGEST = 200
_TOTAL = "_total"


@dataclass
class Family:
    """One metric with all of its samples.

    Args:
        name: The name by Prometheus' conventions: base units, and `_total` for counters.
        kind: The kind of metric.
        help: The description, in one line.
        samples: The suffix of the name (for histograms), the labels and the value of each sample.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: list[tuple[str, Mapping[str, str], float]] = field(default_factory=list)

    def add(self, value: float, /, **labels: object) -> None:
        """Add a sample with a value and its labels."""
        self._add("", value, labels)

    def add_histogram(
        self, bounds: Sequence[float], counts: Sequence[int], total: float, /, **labels: object
    ) -> None:
        """Add a histogram.

        Args:
            bounds: The upper bounds of its buckets, ascending.
            counts: The count of each bucket, not cumulative; the last counts values above all
                bounds.
            total: The sum of all values.
            labels: The labels.
        """
        names = [*map(str, map(float, bounds)), "+Inf"]
        for name, count in zip(names, accumulate(counts), strict=True):
            self._add("_bucket", count, {**labels, "le": name})
        self._add("_sum", total, labels)
        self._add("_count", sum(counts), labels)

    def _add(self, suffix: str, value: float, labels: Mapping[str, object]) -> None:
        texts = {name: str(label) for name, label in labels.items()}
        self.samples.append((suffix, texts, value))


def exposition(families: Iterable[Family], *, openmetrics: bool) -> str:
    """Return metrics as text, without metrics that have no samples.

    Args:
        families: The metrics.
        openmetrics: Whether to use the OpenMetrics format.
    """
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        name = family.name.removesuffix(_TOTAL) if openmetrics else family.name
        lines.append(f"# HELP {name} {family.help}")
        lines.append(f"# TYPE {name} {family.kind}")
        values: dict[str, float] = {}
        for suffix, labels, value in family.samples:  # two names may be shown alike: one series
            series = suffix + _labels(labels)
            values[series] = values.get(series, 0) + value
        lines += [f"{family.name}{series} {value}" for series, value in values.items()]
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    """Return a label value with escapes: names of nodes and reasons may have any characters."""
    shown = safe_text(text, _LONGEST)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
