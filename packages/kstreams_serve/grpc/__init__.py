"""Reads of committed state over gRPC, for programs in other languages. Needs the extra `grpc`.

`server.py` is where it begins; `state.proto` says what can be asked, `service.py` answers it by
the queries, roles and limits of HTTP. `state_pb2.py` is generated of `state.proto`.
"""

from __future__ import annotations
