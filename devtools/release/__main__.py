"""The commands of a release.

- `dist`: build all wheels and source distributions of the current commit into `dist/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from devtools.release.distributions import PLATFORMS, build, this_platform
from devtools.release.progress import ReleaseError, say
from devtools.release.source import export
from devtools.release.tools import WORK
from devtools.workspace import ROOT

__all__ = ("main",)


def main(arguments: Sequence[str]) -> int:
    """Run a command; print the problem and return 1 if it fails."""
    parser = argparse.ArgumentParser("python -m devtools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    dist = commands.add_parser("dist")
    dist.add_argument("--platform", action="append", choices=(*PLATFORMS, "all"))
    options = parser.parse_args(arguments)
    try:
        _dist(options.platform or [])
    except ReleaseError as exc:
        print(f"release: error: {exc}", file=sys.stderr)
        return 1
    return 0


def _dist(platforms: Sequence[str]) -> None:
    chosen = PLATFORMS if "all" in platforms else platforms or [this_platform()]
    made = build(export(WORK / "source"), ROOT / "dist", chosen)
    size = sum(path.stat().st_size for path in made)
    say(f"{len(made)} files with {size / 1e6:.1f} MB in dist/")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
