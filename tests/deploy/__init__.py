"""The files of `deploy/` are valid, and agree with each other and with the library."""

from __future__ import annotations
