"""Shared helpers of tests: fake spark."""
