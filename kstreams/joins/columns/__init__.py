"""Joins by columns, with the results of joins by records."""

from __future__ import annotations
