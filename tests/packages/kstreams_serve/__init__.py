"""Tests of the HTTP and gRPC server."""
