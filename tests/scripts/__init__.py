"""Tests of the scripts that set up and check a checkout."""
