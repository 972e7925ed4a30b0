"""Shared helpers of tests: windows."""
