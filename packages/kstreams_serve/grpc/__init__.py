"""Reads of committed state over gRPC, for programs in other languages. Needs the extra `grpc`.

Start with `server.py`. `state.proto` defines the methods; `service.py` implements them with the
queries, roles and limits of HTTP. `state_pb2.py` is generated from `state.proto`.
"""

from __future__ import annotations
