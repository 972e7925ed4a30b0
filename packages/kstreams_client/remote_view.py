"""A store of an app, read over HTTP from `kstreams serve`."""

from __future__ import annotations

from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.errors import CheckpointMismatchError
from kstreams.partitioner import Partitioner
from kstreams.state.log.fields import checked_text
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.versioned_reads import VersionedReads
from kstreams_client.remote_reader import RemoteReader
from kstreams_client.server_client import ServerClient

__all__ = ("RemoteView",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""

_TIMEOUT = timedelta(seconds=30)


class RemoteView(VersionedReads[S_co], Generic[S_co]):
    """Reads a committed store of an app from `kstreams serve`, without its checkpoint or log.

    A remote view has the methods of `View`, with the types of the store, and the same results at
    the same version: encoded rows are sent over HTTP, and decoded by the serdes and methods of the
    store. A read sends the necessary requests: one for `get`, pages for ranges. All requests of a
    read or an iteration see one version. Threads may share a view; their requests are sequential.

    The function that is passed to `read` or `read_key` is called again if the version that it reads
    was deleted meanwhile.

    Args:
        url: The URL of the server: `https://HOST:PORT`; `http://` only for this machine.
        store: The app's definition of the store.
        token: A token of the server with the role `data`.
        app: The app id; required if the server has several apps.
        as_of: An earlier version: a retained batch, or the name of a savepoint; None for the newest
            version.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default.
        timeout: The maximum time of a request, including the restore of a partition.
        ca_file: A PEM file of trusted certificates, used instead of the default certificates.

    Raises:
        ServerUnavailableError: The server does not answer.
        ServerRefusedError: The address is invalid, or the token is unknown or has no permission.
        CheckpointMismatchError: The app or the store does not exist, or has another definition.
        StoreError: The version is not retained.
        SavepointError: The savepoint does not exist.

    Source: the remote part of interactive queries, which users of Kafka Streams must implement.
    """

    def __init__(
        self,
        url: str,
        store: StoreSpec[S_co],
        *,
        token: str,
        app: str | None = None,
        as_of: int | str | None = None,
        partitioner: Partitioner | None = None,
        timeout: timedelta = _TIMEOUT,
        ca_file: str | None = None,
    ) -> None:
        client = ServerClient(url, token, timeout_s=timeout.total_seconds(), ca_file=ca_file)
        try:
            reader = RemoteReader(client, _app(client, app), store, as_of, partitioner)
        except BaseException:
            client.close()
            raise
        super().__init__(store, reader)


def _app(client: ServerClient, given: str | None) -> str:
    """Return the given app id if the server has the app, or the server's only app."""
    served = client.get("apps").items("apps")
    names = [checked_text(each.get("app"), "the name of an app") for each in served]
    if given is None and len(names) == 1:
        return names[0]
    if given is None or given not in names:
        known = ", ".join(map(repr, names)) or "none"
        asked = "app=... is not given" if given is None else f"there is no app {given!r}"
        raise CheckpointMismatchError(f"{asked}: the server has {known}")
    return given
