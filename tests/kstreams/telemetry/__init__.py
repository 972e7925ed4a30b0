"""Tests of `kstreams.telemetry`: reports and live state of an app."""

from __future__ import annotations
