"""Shared helpers of tests: spark."""
