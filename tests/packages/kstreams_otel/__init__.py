"""Tests of `kstreams_otel`: spans and metrics for OpenTelemetry."""

from __future__ import annotations
