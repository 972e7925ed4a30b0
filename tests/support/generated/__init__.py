"""Shared helpers of tests: generated."""
