"""Shared helpers of tests: sinks."""
