"""Selection and checks of the records that a task processes in a batch."""

from __future__ import annotations
