"""The only module that imports Google's client."""

from __future__ import annotations

try:
    import grpc
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.cloud.bigtable_admin_v2 import BigtableTableAdminClient
    from google.cloud.bigtable_admin_v2 import types as admin_types
    from google.cloud.bigtable_admin_v2.services.bigtable_table_admin.transports import (
        BigtableTableAdminGrpcTransport,
    )
    from google.cloud.bigtable_v2 import BigtableClient, types
    from google.cloud.bigtable_v2.services.bigtable.transports import BigtableGrpcTransport
    from google.oauth2.service_account import Credentials
except ImportError as error:
    raise ImportError(
        "Bigtable needs Google's client: pip install 'kstreams-spark[bigtable]'"
    ) from error

__all__ = (
    "BigtableClient",
    "BigtableGrpcTransport",
    "BigtableTableAdminClient",
    "BigtableTableAdminGrpcTransport",
    "Credentials",
    "GoogleAuthError",
    "TransportError",
    "admin_types",
    "exceptions",
    "grpc",
    "types",
)
