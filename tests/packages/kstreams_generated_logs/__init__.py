"""Tests of `kstreams_generated_logs`."""
