"""A store of an app, read over HTTP from `kstreams serve`."""

from __future__ import annotations

from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.errors import CheckpointMismatchError
from kstreams.partitioner import Partitioner
from kstreams.state.log.fields import checked_text
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.remote_reader import RemoteReader
from kstreams.views.server_client import ServerClient
from kstreams.views.versioned_reads import VersionedReads

__all__ = ("RemoteView",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""

_TIMEOUT = timedelta(seconds=30)


class RemoteView(VersionedReads[S_co], Generic[S_co]):
    """Reads a committed store of an app from `kstreams serve`, without its checkpoint or log.

    It has the methods of `View`, with the store's own types, and gives what a `View` gives at
    the same version: encoded rows come over HTTP, and are read here by the store's own serdes
    and methods. A read asks for what it needs: a request for `get`, pages for ranges. All
    requests of a read, and of an iteration, see one version. Threads may share a view; they ask
    one after another.

    The function of `read` and `read_key` is called again where the version that it reads has
    gone meanwhile.

    Args:
        url: Where the server listens: `https://HOST:PORT`; `http://` for this machine alone.
        store: The app's own definition of the store.
        token: One of the server's, of the role `data`.
        app: Name of the app; needed where the server has several.
        as_of: Stay at an earlier version: a batch that is retained, or the name of a savepoint.
        partitioner: The rule by which the app's keys were routed, if it is not Kafka's.
        timeout: How long a request may take, waiting for a partition to be restored included.
        ca_file: Certificates to trust instead of the system's, PEM.

    Raises:
        ServerUnavailableError: The server does not answer.
        ServerRefusedError: The address is none, the token is unknown there, or may not read.
        CheckpointMismatchError: There is no such app or store, or by another definition.
        StoreError: The version is not retained.
        SavepointError: There is no such savepoint.

    Source: what Kafka Streams' interactive queries leave to their users.
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
    """Return the name of the app that is meant."""
    served = client.get("apps").items("apps")
    names = [checked_text(each.get("app"), "the name of an app") for each in served]
    if given is None and len(names) == 1:
        return names[0]
    if given is None or given not in names:
        known = ", ".join(map(repr, names)) or "none"
        asked = "no app is named by app=..." if given is None else f"there is no app {given!r}"
        raise CheckpointMismatchError(f"{asked}: the server has {known}")
    return given
