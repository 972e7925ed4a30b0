"""Protocol Buffers as a format of keys and values: messages of generated classes, and columns.

Read `protobuf_serde` first. Depends on protobuf, ptars and the public names of `kstreams`; install
all by `pip install 'kstreams-spark[protobuf]'`.
"""

from __future__ import annotations

from kstreams_protobuf.serde import ProtobufSerde, descriptor_serde, protobuf_serde

__all__ = ("ProtobufSerde", "descriptor_serde", "protobuf_serde")
