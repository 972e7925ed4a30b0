"""Detects the distribution `kstreams` of another project, which has an import package of this name.

Both distributions write into the same folder, `site-packages/kstreams`, and the one installed last
replaces the files of the other. If it is this one, `kstreams/__init__.py` finds the other. If it is
the other one, its `__init__.py` imports `kstreams.batch` and `kstreams.streams`: these are modules
there, but packages here, and Python prefers packages. So the check is in both packages, too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ("refuse_other_kstreams",)

_METADATA = re.compile(r"kstreams-(?P<version>[^-]+)(-py[\d.]+)?\.(dist|egg)-info", re.IGNORECASE)
"""Names of the other distribution's metadata; those of this one begin with `kstreams_spark-`."""

_REPAIR = (
    "Hint: remove both with `pip uninstall --yes kstreams kstreams-spark`, and install this one "
    "again with `pip install kstreams-spark`."
)


def refuse_other_kstreams(folder: Path = Path(__file__).parents[1]) -> None:
    """Check that this folder of packages has no other distribution with the name `kstreams`.

    Args:
        folder: The folder with the package `kstreams`, such as `site-packages`. The packages of
            an archive (`--py-files` of Spark) are not checked.

    Raises:
        ImportError: The other distribution is installed, or its removal deleted
            `kstreams/__init__.py`. Both must be removed, and kstreams-spark installed again.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return
    for found in filter(None, map(_METADATA.fullmatch, names)):
        raise ImportError(
            f"kstreams-spark cannot be used: {folder} also has kstreams {found['version']}, a "
            f"distribution of another project with an import package of the same name. Each "
            f"replaces files of the other.\n{_REPAIR}",
            name="kstreams",
            path=str(folder / "kstreams"),
        )
    package = sys.modules.get("kstreams")
    if package is not None and package.__file__ is None:
        raise ImportError(
            f"kstreams-spark is damaged: {folder / 'kstreams'} has no __init__.py. The removal of "
            f"the distribution kstreams, of another project, deletes this file.\n{_REPAIR}",
            name="kstreams",
            path=str(folder / "kstreams"),
        )
