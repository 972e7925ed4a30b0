"""Shared helpers of tests: cli."""
