"""Shared helpers of tests: servers."""
