"""Shared helpers of tests: processes."""
