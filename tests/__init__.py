"""Tests of the library, its plugins and the tools of the repository."""
