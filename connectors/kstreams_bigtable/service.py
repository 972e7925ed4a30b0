"""Bigtable's client, with retries of temporary failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from kstreams_bigtable.sdk import (
    BigtableClient,
    BigtableGrpcTransport,
    BigtableTableAdminClient,
    BigtableTableAdminGrpcTransport,
    Credentials,
    GoogleAuthError,
    TransportError,
    admin_types,
    exceptions,
    grpc,
    types,
)
from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("FAMILY", "Access", "Service")

T = TypeVar("T")
"""The type of an operation's result."""

FAMILY = "f"
"""The only column family of the table of fences."""

_TIMEOUT_S = 20.0
_LASTING = (
    exceptions.BadRequest,
    exceptions.Unauthenticated,
    exceptions.Forbidden,
    exceptions.NotFound,
    exceptions.MethodNotImplemented,
    exceptions.AlreadyExists,
)
_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass(frozen=True)
class Access:
    """The address of an instance and the credentials for it.

    Attributes:
        project: The Google Cloud project.
        instance: The Bigtable instance in the project.
        profile: The app profile; empty for the default profile.
        endpoint: `host:port` of an emulator, used without TLS; None for Google's service.
        credentials_file: The key file of a service account.
    """

    project: str
    instance: str
    _: KW_ONLY
    profile: str = ""
    endpoint: str | None = None
    credentials_file: str | None = field(default=None, repr=False)

    @property
    def parent(self) -> str:
        """The full name of the instance."""
        return f"projects/{self.project}/instances/{self.instance}"


class Service:
    """A client of one process, with its own channels, which reconnect by themselves.

    Args:
        access: The instance and the credentials.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, access: Access, give_up_after: timedelta) -> None:
        self._access = access
        self._give_up_after = give_up_after
        self._channels: list[grpc.Channel] = []
        self._client: BigtableClient | None = None
        secrets = (access.credentials_file or "",)
        self._faults = Faults(
            "Bigtable",
            (exceptions.GoogleAPICallError, GoogleAuthError, OSError, ValueError),
            _may_pass,
            lambda exc: type(exc).__name__,
            lambda exc: hidden(str(exc), secrets),
            "check the instance, the table, its column families, and the permissions of the "
            "service account.",
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation with the client; retry temporary failures.

        Raises:
            SinkUnavailableError: Bigtable did not answer within `give_up_after`.
            SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, lambda: None)

    def name(self, table: str) -> str:
        """Return the full name of a table."""
        return f"{self._access.parent}/tables/{table}"

    def mutate(self, table: str, rows: Sequence[tuple[bytes, list[types.Mutation]]]) -> list[str]:
        """Change rows; return for each row the reason of its rejection, empty if it was written.

        Raises:
            GoogleAPICallError: The result of some rows is unknown, or the request is rejected.
        """
        entries = [types.MutateRowsRequest.Entry(row_key=key, mutations=each) for key, each in rows]
        said = [""] * len(rows)
        left = len(rows)
        answers = self._opened().mutate_rows(
            table_name=self.name(table),
            entries=entries,
            app_profile_id=self._access.profile,
            retry=None,
            timeout=_TIMEOUT_S,
        )
        for answer in answers:
            for entry in answer.entries:
                left -= 1
                if code := entry.status.code:
                    refused = exceptions.from_grpc_status(_STATUS[code], entry.status.message)  # type: ignore[no-untyped-call]  # it is not
                    if not isinstance(refused, exceptions.BadRequest | exceptions.NotFound):
                        raise refused
                    said[entry.index] = str(refused)
        if left:
            raise exceptions.ServiceUnavailable(  # type: ignore[no-untyped-call]  # it is not
                f"the response has no result for {left} of {len(rows)} rows"
            )
        return said

    def unless(
        self, table: str, key: bytes, there: types.RowFilter, otherwise: list[types.Mutation]
    ) -> bool:
        """Change a row unless a filter matches it; return whether it matched.

        Args:
            table: The table.
            key: The row key.
            there: The filter.
            otherwise: The changes to apply if the filter does not match.
        """
        done = self._opened().check_and_mutate_row(
            table_name=self.name(table),
            row_key=key,
            predicate_filter=there,
            false_mutations=otherwise,
            app_profile_id=self._access.profile,
            retry=None,
            timeout=_TIMEOUT_S,
        )
        return bool(done.predicate_matched)

    def cells(self, table: str, key: bytes) -> dict[bytes, tuple[int, bytes]]:
        """Return the newest cell of each column in a row of the fence table.

        Returns:
            For each column: the cell's timestamp in microseconds, and its value.
        """
        answers = self._opened().read_rows(
            request=types.ReadRowsRequest(
                table_name=self.name(table),
                rows=types.RowSet(row_keys=[key]),
                filter=types.RowFilter(cells_per_column_limit_filter=1),
                app_profile_id=self._access.profile,
            ),
            retry=None,
            timeout=_TIMEOUT_S,
        )
        found: dict[bytes, tuple[int, bytes]] = {}
        column = b""
        for answer in answers:
            for chunk in answer.chunks:
                if "qualifier" in chunk:
                    named: Any = chunk.qualifier  # bytes, whatever its stub says
                    column = named
                found[column] = (chunk.timestamp_micros, bytes(chunk.value))
        return found

    def has(self, table: str) -> bool:
        """Return whether a table exists."""
        try:
            self.cells(table, b"\0")
        except exceptions.NotFound:
            return False
        return True

    def families(self, table: str) -> frozenset[str] | None:
        """Return the column families of a table; None if the client may not read them."""
        try:
            found = self._admin().get_table(name=self.name(table), retry=None, timeout=_TIMEOUT_S)
        except exceptions.Forbidden:
            return None
        return frozenset(found.column_families)

    def make_table(self, table: str) -> None:
        """Create a table of fences, unless it exists."""
        kept = admin_types.ColumnFamily(gc_rule=admin_types.GcRule(max_num_versions=1))  # type: ignore[no-untyped-call]  # it is not
        made = admin_types.Table(column_families={FAMILY: kept})
        with suppress(exceptions.AlreadyExists):
            self._admin().create_table(
                parent=self._access.parent,
                table_id=table,
                table=made,
                retry=None,
                timeout=_TIMEOUT_S,
            )

    def close(self) -> None:
        """Close the channels of the client."""
        self._client = None
        while self._channels:
            self._channels.pop().close()

    def _opened(self) -> BigtableClient:
        if self._client is None:
            channel = self._channel("bigtable.googleapis.com")
            self._client = BigtableClient(transport=BigtableGrpcTransport(channel=channel))
        return self._client

    def _admin(self) -> BigtableTableAdminClient:
        channel = self._channel("bigtableadmin.googleapis.com")
        return BigtableTableAdminClient(transport=BigtableTableAdminGrpcTransport(channel=channel))

    def _channel(self, host: str) -> grpc.Channel:
        access = self._access
        if access.endpoint is not None:
            channel = grpc.insecure_channel(access.endpoint, _OPTIONS)
        else:
            admin = host.startswith("bigtableadmin")
            kind = BigtableTableAdminGrpcTransport if admin else BigtableGrpcTransport
            channel = kind.create_channel(
                host,
                credentials=_credentials(access.credentials_file, kind.AUTH_SCOPES),
                scopes=kind.AUTH_SCOPES,
                options=_OPTIONS,
            )
        self._channels.append(channel)
        return channel


_STATUS = {status.value[0]: status for status in grpc.StatusCode}


def _credentials(file: str | None, scopes: Sequence[str]) -> Credentials | None:
    if file is None:
        return None
    found: Credentials = Credentials.from_service_account_file(file, scopes=scopes)  # type: ignore[no-untyped-call]  # it is not
    return found


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, exceptions.GoogleAPICallError):
        return not isinstance(exc, _LASTING)
    return isinstance(exc, TransportError)
