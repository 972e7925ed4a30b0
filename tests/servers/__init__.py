"""Fixtures that start servers, and tests of the servers."""
