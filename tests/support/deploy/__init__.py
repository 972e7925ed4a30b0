"""Shared helpers of tests: deploy."""
