"""Tests of kstreams_protobuf; the `.proto` files say how their modules are made."""
