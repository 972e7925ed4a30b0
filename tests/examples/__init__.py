"""The examples and the code of the pages run."""

from __future__ import annotations
