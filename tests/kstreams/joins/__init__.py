"""Tables and joins."""
