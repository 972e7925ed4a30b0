"""The examples, and the code of the documentation pages, run."""

from __future__ import annotations
