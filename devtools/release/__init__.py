"""Builds and checks a release: `make dist` and `make release-dry-run`.

Read `distributions.py` (the builds) and `dry_run.py` (the checks of a release) first. A release has
the wheels and source distributions of the core, of each package of the workspace, and of the
compiled loops in `native/`, all of one version and from one commit.

The tools are in `build/release/tools`, installed from `requirements/release.txt`.
"""

from __future__ import annotations
