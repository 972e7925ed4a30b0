"""The figures of a dry run: `build/release/report.md`."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from devtools.release.installs import Trial

__all__ = ("report",)


def report(version: str, commit: str, dist: Iterable[Path], trials: Sequence[Trial]) -> str:
    """Return a page with the sizes of the wheels and the results of the installations."""
    wheels = sorted((path for path in dist if path.suffix == ".whl"), key=lambda path: path.name)
    lines = [
        f"# Dry run of kstreams-spark {version}",
        "",
        f"Commit {commit}, {platform.system()} {platform.machine()}.",
        "",
        "| Python | `import kstreams`, ms | extras installed alone | all extras, s | tutorial, s |",
        "|---|---:|---:|---:|---:|",
    ]
    for python in dict.fromkeys(trial.python for trial in trials):
        own = {trial.extra: trial for trial in trials if trial.python == python}
        alone = sum(
            extra not in ("", "all", "tutorial") and not trial.problem
            for extra, trial in own.items()
        )
        import_ms = own[""].import_ms if "" in own else None
        cells = [python, _text(import_ms), str(alone), _took(own.get("all"))]
        lines.append(f"| {' | '.join(cells)} | {_took(own.get('tutorial'))} |")
    lines += ["", "| wheel | bytes |", "|---|---:|"]
    lines += [f"| {wheel.name} | {wheel.stat().st_size:,} |" for wheel in wheels]
    lines.append(f"| all | {sum(wheel.stat().st_size for wheel in wheels):,} |")
    return "\n".join(lines) + "\n"


def _took(trial: Trial | None) -> str:
    if trial is None:
        return "-"
    return "failed" if trial.problem else _text(trial.seconds)


def _text(number: float | None) -> str:
    return "-" if number is None else f"{number:.0f}"
