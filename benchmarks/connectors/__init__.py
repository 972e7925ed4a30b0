"""Measures what goes to places that are no topics, and what is asked of them."""

from __future__ import annotations
