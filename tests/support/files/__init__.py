"""Shared helpers of tests: files."""
