"""Shared helpers of tests: conformance."""
