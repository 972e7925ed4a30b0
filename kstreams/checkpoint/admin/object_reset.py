"""The reset of an app whose checkpoint is in object storage."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from kstreams.checkpoint.admin.reset_targets import Survey, local_leftovers, not_again, remove_local
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.app_objects import epoch_objects
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.object_home import DESCRIPTIONS, PLANS, ObjectHome
from kstreams.checkpoint.storage.removal import Removal
from kstreams.checkpoint.storage.telemetry_files import FOLDER
from kstreams.checkpoint.takeover import seal
from kstreams.errors import CheckpointMismatchError
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.working import StateBackend

__all__ = ("finish_reset", "reset_objects", "survey_objects")

_TELEMETRY = f"{FOLDER}/"
_PREFIXES = (PLANS, DESCRIPTIONS, _TELEMETRY)


def survey_objects(app_id: str, home: ObjectHome, state: StateBackend | None) -> Survey:
    """Return the targets of `reset_objects`; see `kstreams_admin.reset.survey`."""
    found = _own(app_id, home)
    log = _log(found, state)
    count = sum(1 for _ in epoch_objects(log, app_id, found.checkpoint_id))
    count += sum(1 for prefix in _PREFIXES for _ in home.objects.list(prefix))
    return Survey(
        app_id,
        None,
        local_leftovers(app_id, [found.checkpoint_id], state),
        (),
        count,
        tuple(Savepoints(found, log).names()),
        not_again(found.commit_effects),
    )


def reset_objects(survey: Survey, home: ObjectHome, state: StateBackend | None) -> None:
    """Remove an app's objects; see `kstreams_admin.reset.reset`.

    A new revision of the app description (`description/<revision>.json`) marks the removal. After
    that the checkpoint counts as missing, and if the reset is interrupted, the next reset or start
    of the app completes it. The app description is removed last.
    """
    found = _own(survey.app_id, home)
    remove_local(found.app, survey.local, [found.checkpoint_id], state)
    log = _log(found, state)
    if found.removal is None:
        run = uuid4().hex[:12]
        claims = (name for query in found.queries for name in seal(found, query, log, run=run))
        elsewhere = state is not None and state.log is not None
        found = replace(found, removal=Removal(tuple(claims), elsewhere)).save()
    _remove(found, home, log)


def finish_reset(home: ObjectHome, log: ObjectStoreSettings | None) -> None:
    """Complete an interrupted reset, if there is one.

    Args:
        home: The storage of the checkpoint.
        log: The durable log of the app, if it is not in the checkpoint.
    """
    found = Checkpoint.read(home)
    if found.removal is not None:
        elsewhere = log if found.removal.log else None
        _remove(found, home, (elsewhere or found.log).open())


def _remove(found: Checkpoint, home: ObjectHome, log: ObjectStore) -> None:
    claims = () if found.removal is None else found.removal.claims
    log.delete(list(epoch_objects(log, found.app, found.checkpoint_id)))
    home.objects.delete([name for name in home.objects.list(PLANS) if name not in claims])
    home.forget_pause()
    home.objects.delete(list(home.objects.list(_TELEMETRY)))
    names = sorted(home.objects.list(DESCRIPTIONS))
    home.objects.delete(names[:-1])
    home.objects.delete(names[-1:])


def _own(app_id: str, home: ObjectHome) -> Checkpoint:
    """Return the checkpoint if it belongs to the app; otherwise raise an error."""
    found = Checkpoint.read(home)
    if found.app != app_id:
        raise CheckpointMismatchError(
            f"checkpoint {str(home)!r} belongs to app {found.app!r}, not to {app_id!r}",
            hint=f"reset {found.app!r}, or name the checkpoint of {app_id!r}.",
        )
    return found


def _log(found: Checkpoint, state: StateBackend | None) -> ObjectStore:
    return ((None if state is None else state.log) or found.log).open()
