"""The disk of a machine whose process dies: its state at that moment, or an empty one."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.crash.faults import copied

__all__ = ("Machine",)


class Machine:
    """A directory that can be frozen, while threads of a dead process still write to it.

    Args:
        home: Parent directory of the disk.

    Attributes:
        local: The disk.
    """

    def __init__(self, home: Path) -> None:
        self.local = home / "local"
        self._frozen = home / "frozen"

    def freeze(self, *, keeps: bool) -> None:
        """Save the current disk for the next process, or leave it an empty one."""
        shutil.rmtree(self._frozen, ignore_errors=True)
        if keeps and self.local.exists():
            shutil.copytree(self.local, self._frozen, symlinks=True, copy_function=copied)

    def thaw(self) -> None:
        """Restore the frozen disk for the next process."""
        shutil.rmtree(self.local, ignore_errors=True)
        if self._frozen.exists():
            self._frozen.rename(self.local)
