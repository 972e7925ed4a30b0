"""Tests of the sink that posts to an HTTP server, on a server in the process."""

from __future__ import annotations
