"""Tests of objects in Google Cloud Storage, on a server with its protocol."""

from __future__ import annotations
