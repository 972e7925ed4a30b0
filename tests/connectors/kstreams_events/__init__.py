"""Tests of server-sent events and WebSockets as intakes."""
