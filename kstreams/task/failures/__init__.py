"""Errors of user code, and the policies for failed records and results."""

from __future__ import annotations
