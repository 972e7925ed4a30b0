"""The choice between execution by columns and by records, with reasons."""

from __future__ import annotations
