"""Shared helpers of tests: storage."""
