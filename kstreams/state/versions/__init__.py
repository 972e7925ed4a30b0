"""The versions of a task's state on a worker, from checkout to commit."""

from __future__ import annotations
