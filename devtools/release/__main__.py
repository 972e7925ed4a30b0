"""The commands of a release.

- `dist`: build all wheels and source distributions of the current commit into `dist/`.
- `dry-run`: build, check and install a release, and follow the tutorial, without an upload.
- `bill`: write the SBOM and the licenses of all dependencies of `dist/` into `build/release`.
- `check-tag v1.2.3`: check that versions, changelog and release notes agree with a tag.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from devtools.release.bill import write_bill
from devtools.release.contents import check_contents
from devtools.release.distributions import PLATFORMS, build, this_platform
from devtools.release.dry_run import dry_run
from devtools.release.index import local_index
from devtools.release.progress import ReleaseError, say
from devtools.release.pythons import VERSIONS, find_pythons
from devtools.release.source import export
from devtools.release.tag import check_tag
from devtools.release.tools import WORK, check_metadata
from devtools.workspace import ROOT, core

__all__ = ("main",)

_DIST = ROOT / "dist"


def main(arguments: Sequence[str]) -> int:
    """Run a command; print the problem and return 1 if it fails."""
    options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "dist":
                _dist(_platforms(options.platform))
            case "dry-run":
                platforms = _platforms(options.platform)
                dry_run(options.python or [], options.extra or [], platforms)
            case "bill":
                _bill()
            case _:
                say(f"{check_tag(options.tag)} can be released")
    except ReleaseError as exc:
        print(f"release: error: {exc}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m devtools.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    dist, trial = commands.add_parser("dist"), commands.add_parser("dry-run")
    for command in (dist, trial):
        command.add_argument("--platform", action="append", choices=(*PLATFORMS, "all"))
    trial.add_argument("--python", action="append", choices=VERSIONS)
    trial.add_argument("--extra", action="append", help="an extra instead of each")
    commands.add_parser("bill")
    commands.add_parser("check-tag").add_argument("tag")
    return parser


def _platforms(chosen: Sequence[str] | None) -> Sequence[str]:
    if not chosen:
        return [this_platform()]
    return PLATFORMS if "all" in chosen else chosen


def _dist(platforms: Sequence[str]) -> None:
    made = build(export(WORK / "source"), _DIST, platforms)
    check_contents(made, core().project["version"])
    check_metadata(made)
    size = sum(path.stat().st_size for path in made)
    say(f"{len(made)} files with {size / 1e6:.1f} MB in dist/")


def _bill() -> None:
    if not list(_DIST.glob("kstreams_spark-*.whl")):
        raise ReleaseError("there is no release in dist/", "run `make dist`")
    python = next(iter(find_pythons().values()))
    with local_index(_DIST, core()) as index:
        for path in write_bill(python, index, core().project["version"]):
            say(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
