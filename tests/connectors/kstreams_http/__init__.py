"""Tests of the sink that posts to an HTTP server, on one in the process."""

from __future__ import annotations
