"""Installs the other distribution named `kstreams` in the same environment, in both orders."""

from __future__ import annotations

from pathlib import Path

from devtools.release.environments import clean_environment
from devtools.release.progress import ReleaseError, say

__all__ = ("try_name_conflict",)

_EXPECTED = "pip uninstall --yes kstreams kstreams-spark"
_IMPORT = """
try:
    import kstreams
except ImportError as exc:
    print(exc)
"""


def try_name_conflict(python: Path, index: str, version: str) -> None:
    """Check that `import kstreams` states the cause and the repair, and that the repair works.

    Args:
        python: The Python of the environments.
        index: The address of the local index.
        version: The version of the release.

    Raises:
        ReleaseError: An import succeeds, or fails without the explanation.
    """
    ours, theirs = f"kstreams-spark=={version}", "kstreams"
    for order in ((ours, theirs), (theirs, ours)):
        with clean_environment("name-conflict", python, index, pip=True) as environment:
            for requirement in order:
                environment.install([requirement])
            printed = environment.run(_IMPORT, "import kstreams beside the other distribution")
            if _EXPECTED not in printed:
                raise ReleaseError(
                    f"after the installation of {' and then '.join(order)}, `import kstreams` "
                    f"does not explain the conflict; it printed:\n{printed}",
                    "see kstreams/other_kstreams.py: the other project may have other modules now",
                )
            environment.uninstall(["kstreams", "kstreams-spark"])
            environment.install([ours])
            if environment.run(_IMPORT, "import kstreams after the repair"):
                raise ReleaseError("the repair of a name conflict does not work")
        say(f"  {' and then '.join(order)}: refused, and repaired")
