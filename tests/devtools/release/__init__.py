"""Tests of the builds and checks of a release."""
