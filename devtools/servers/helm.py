"""Helm, the program that renders charts, built from its Go module at the first use on a machine."""

from __future__ import annotations

import shutil

from devtools.servers.go_programs import go_program

__all__ = ("helm_program",)

_VERSION = "v3.22.0"


def helm_program() -> str:
    """Return the path of an installed Helm, or of a built one.

    Raises:
        NoServerError: Helm is not installed and cannot be built.
    """
    return shutil.which("helm") or go_program("helm", "helm.sh/helm/v3/cmd/helm", _VERSION)
