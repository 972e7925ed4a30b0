"""Tests of the core, in the folders of its packages."""
