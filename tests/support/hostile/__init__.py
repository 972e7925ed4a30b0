"""Shared helpers of tests: hostile."""
