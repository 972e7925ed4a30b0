"""Fixtures that start servers, and tests of what starts them."""
