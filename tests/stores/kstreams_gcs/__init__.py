"""Tests of objects in Google Cloud Storage, on a server that speaks its protocol."""

from __future__ import annotations
