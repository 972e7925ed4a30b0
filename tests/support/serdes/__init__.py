"""Shared helpers of tests: serdes."""
