"""Shared helpers of tests: kafka."""
