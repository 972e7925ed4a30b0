"""Shared helpers of tests: crash."""
