"""Reset an app: remove its checkpoint and its local state.

Needs neither a JVM nor the topology. Read `reset` first; `survey` lists its targets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kstreams.checkpoint.admin.object_reset import reset_objects, survey_objects
from kstreams.checkpoint.admin.reset_targets import Survey
from kstreams.checkpoint.storage.named_home import CheckpointName, app_home
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.state.backend.working import StateBackend
from kstreams_admin.directory_reset import reset_directory, survey_directory

__all__ = ("reset", "survey")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))


def survey(
    app_id: str, *, checkpoint: CheckpointName | None = None, state: StateBackend | None = None
) -> Survey:
    """Return the targets of `reset` without removing them.

    Args:
        app_id: The app id.
        checkpoint: The checkpoint; `.kstreams/<app_id>` by default, as for `App`.
        state: The backend of the app, if it has its own directory or durable log.

    Raises:
        NoCheckpointError: There is nothing to remove.
        CheckpointMismatchError: The directory belongs to another app, is not a checkpoint, or has
            other files.
        InvalidNameError: The checkpoint's description file names objects outside of the
            checkpoint.
        AppLockedError: An app runs on the checkpoint; stop it first.
        StoreError: The durable log cannot be reached.
    """
    home = app_home(app_id, checkpoint)
    if isinstance(home, ObjectHome):
        return survey_objects(app_id, home, state)
    return survey_directory(app_id, home, state)


def reset(
    app_id: str,
    *,
    checkpoint: CheckpointName | None = None,
    state: StateBackend | None = None,
    report: Callable[[str], object] = _LOG.warning,
) -> Survey:
    """Remove the checkpoint of an app and its working state on this machine.

    The app then starts fresh: it reads its input from the start of each source, except data that
    the source has deleted (files, changes of a replication slot), which is reported. Output topics
    stay. The checkpoint is renamed in one step before anything in it is deleted: an interrupted
    reset leaves either the whole checkpoint or none, and the next reset removes the rest. Objects
    of a separate durable log are removed if `state` names the log (`RocksDB(log=S3(...))`): only
    those of this checkpoint id. Links are removed, not followed.

    Object storage has no rename: there the description file of the checkpoint is first marked as
    removed, and the next reset or start finishes an interrupted reset. One or two plans of each
    query stay until the next reset, to keep a running driver from continuing.

    Args:
        app_id: The app id.
        checkpoint: The checkpoint; `.kstreams/<app_id>` by default, as for `App`.
        state: The backend of the app, if it has its own directory or durable log.
        report: Called before the removal with a sentence for each source whose deleted input cannot
            be read again; by default a warning of this module's logger.

    Returns:
        The removed targets; `not_again` has the sentences passed to `report`.

    Raises:
        NoCheckpointError: There is nothing to remove.
        CheckpointMismatchError: The directory belongs to another app, is not a checkpoint, or has
            other files.
        InvalidNameError: The checkpoint's description file names objects outside of the
            checkpoint.
        AppLockedError: An app runs on the checkpoint; stop it first.
        ExecutionError: The disk rejects the removal; try again later.
        StoreError: The durable log rejects the removal.

    Source: Kafka's `kafka-streams-application-reset.sh` with `KafkaStreams#cleanUp`; there are no
    internal topics to delete here.
    """
    found = survey(app_id, checkpoint=checkpoint, state=state)
    for sentence in found.not_again:
        report(sentence)
    home = app_home(app_id, checkpoint)
    if isinstance(home, ObjectHome):
        reset_objects(found, home, state)
    else:
        reset_directory(found, home, state)
    return found
