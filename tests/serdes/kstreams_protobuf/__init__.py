"""Tests of kstreams_protobuf; the `.proto` files have the commands that generate their modules."""
