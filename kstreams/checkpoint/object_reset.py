"""Start an app fresh whose checkpoint is in an object storage."""

from __future__ import annotations

from uuid import uuid4

from kstreams.checkpoint.app_objects import epoch_objects
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.leftovers import Survey, local_leftovers, remove_local
from kstreams.checkpoint.object_home import DESCRIPTIONS, PLANS, ObjectHome
from kstreams.checkpoint.savepoints import Savepoints
from kstreams.checkpoint.takeover import seal
from kstreams.errors import CheckpointMismatchError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend

__all__ = ("reset_objects", "survey_objects")

_PREFIXES = (PLANS, DESCRIPTIONS)


def survey_objects(app_id: str, home: ObjectHome, state: StateBackend | None) -> Survey:
    """Return what `reset_objects` would remove; see `kstreams.checkpoint.reset.survey`."""
    found = _own(app_id, home)
    log = _log(found, state)
    count = sum(1 for _ in epoch_objects(log, app_id, found.incarnation))
    count += sum(1 for prefix in _PREFIXES for _ in home.objects.list(prefix))
    return Survey(
        app_id,
        None,
        local_leftovers(app_id, [found.incarnation], state),
        (),
        count,
        tuple(Savepoints(found, log).names()),
    )


def reset_objects(survey: Survey, home: ObjectHome, state: StateBackend | None) -> None:
    """Remove an app's objects, the description last; see `kstreams.checkpoint.reset.reset`."""
    found = _own(survey.app_id, home)
    log, run = _log(found, state), uuid4().hex[:12]
    claims = {name for query in found.queries for name in seal(found, query, log, run=run)}
    log.delete(list(epoch_objects(log, found.app, found.incarnation)))
    home.objects.delete([name for name in home.objects.list(PLANS) if name not in claims])
    remove_local(found.app, survey.local, [found.incarnation], state)
    *older, newest = home.objects.list(DESCRIPTIONS)
    home.objects.delete(older)
    home.objects.delete([newest])


def _own(app_id: str, home: ObjectHome) -> Checkpoint:
    """Return the checkpoint, or refuse to remove what is another app's."""
    found = Checkpoint.load(home)
    if found.app != app_id:
        raise CheckpointMismatchError(
            f"checkpoint {str(home)!r} belongs to app {found.app!r}, not to {app_id!r}",
            hint=f"reset {found.app!r}, or name the checkpoint of {app_id!r}.",
        )
    return found


def _log(found: Checkpoint, state: StateBackend | None) -> ObjectStore:
    return ((None if state is None else state.log) or found.log).open()
