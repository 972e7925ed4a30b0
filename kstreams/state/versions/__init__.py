"""The versions of a task's state on a worker, from check-out to commit."""

from __future__ import annotations
