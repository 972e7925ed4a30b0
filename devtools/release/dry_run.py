"""A release up to its upload: builds, checks, installations in clean environments, the tutorial."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence

from devtools import workspace
from devtools.release.conda import check_recipe
from devtools.release.contents import check_contents, check_equal
from devtools.release.distributions import build
from devtools.release.index import local_index
from devtools.release.installs import Trial, try_extra, try_tutorial
from devtools.release.name_conflict import try_name_conflict
from devtools.release.progress import ReleaseError, say, step
from devtools.release.pythons import find_pythons
from devtools.release.report import report
from devtools.release.source import export
from devtools.release.tools import WORK, check_metadata

__all__ = ("dry_run",)


def dry_run(pythons: Sequence[str], extras: Sequence[str], platforms: Sequence[str]) -> None:
    """Build a release of the current commit, and check all that a user does with it.

    Args:
        pythons: The versions of Python; empty for each supported version on this machine.
        extras: The extras; empty for each extra alone, all of them, and none.
        platforms: The platforms of the compiled loops, with that of this machine.

    Raises:
        ReleaseError: A step fails.
    """
    started = time.monotonic()
    programs = find_pythons(pythons)
    source = export(WORK / "source")
    core = workspace.core(source.folder)
    version = core.project["version"]
    say(f"kstreams-spark {version}, commit {source.commit[:12]}, Python {', '.join(programs)}")
    dist, again = workspace.ROOT / "dist", WORK / "second-build"
    made = build(source, dist, platforms)
    build(export(WORK / "second-source"), again, platforms)
    say(f"{check_equal(dist, again)} files are equal in two builds")
    shutil.rmtree(again)
    with step("check metadata and content"):
        check_contents(made, version)
        check_metadata(made)
        check_recipe(version)
    trials: list[Trial] = []
    with local_index(dist, core) as index:
        for python, program in programs.items():
            with step(f"install on Python {python}"):
                for extra in extras or _extras(core):
                    trials.append(try_extra(python, program, index, version, extra))
            with step(f"follow the tutorial on Python {python}"):
                trials.append(try_tutorial(python, program, index, version))
        with step("install beside the other distribution named kstreams"):
            try_name_conflict(next(iter(programs.values())), index, version)
    page = report(version, source.commit, made, trials)
    (WORK / "report.md").write_text(page)
    print(page)
    if failed := [trial for trial in trials if trial.problem]:
        names = ", ".join(f"{trial.extra or 'core'} on {trial.python}" for trial in failed)
        raise ReleaseError(f"{len(failed)} installations failed: {names}", "see the lines above")
    say(f"all checks passed in {time.monotonic() - started:.0f} s; see build/release/report.md")


def _extras(core: workspace.Package) -> list[str]:
    packages = workspace.packages(core.folder)
    return ["", *workspace.all_extras(core, packages, ["java"])]
