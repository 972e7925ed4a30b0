"""An executor that runs batches as micro-batches of a streaming query."""

from __future__ import annotations

import queue
import secrets
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams.batch.batch_run import Parts
from kstreams.batch.messages.envelope import Content, Envelope
from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.errors import CompileError
from kstreams.execution.executor import (
    BatchAttempt,
    BatchCanceledError,
    WorkerLostError,
)
from kstreams.scratch import scratch_directory
from kstreams.spark.failure import ErrorChannel, typed
from kstreams.spark.group_state.calls import CallServer
from kstreams.spark.group_state.query import GroupQuery
from kstreams.spark.group_state.stage import GroupStage
from kstreams.spark.session import is_local
from kstreams.workers.channel import Address, local_addresses
from kstreams.workers.query_stages import QueryStages

__all__ = ("GroupStateExecutor",)

_POLL_S = 0.2
_CHECK_S = 1.0
_LOST_S = 1.0
"""The time after which an error without a typed error is not the end of a worker process."""
_LOCATION = "spark.sql.streaming.checkpointLocation"


class GroupStateExecutor:
    """Runs each batch of one query as a micro-batch of a streaming query.

    Spark runs and retries the tasks, and stores a row with the state pointer of each task in its
    own state. The committed versions are those in the app's commit log, as with other executors, so
    Spark's checkpoint is temporary: `close` removes it.

    Args:
        session: The session of the app.
        settings: The settings of the query.
        import_path: Folders of the user's modules in workers.
    """

    def __init__(
        self, session: SparkSession, settings: QuerySettings, import_path: tuple[str, ...] = ()
    ) -> None:
        self._session = session
        self._settings = settings
        self._import_path = import_path
        self._errors = ErrorChannel()
        self._stages: QueryStages | None = None
        self._counts = tuple(settings.counts)
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[list[Content] | BaseException] = queue.SimpleQueue()
        self._opened = ExitStack()
        self._server: CallServer | None = None
        self._group_query: GroupQuery | None = None
        self._query: StreamingQuery | None = None
        self._is_canceled = False
        self._checked_at = 0.0

    def open(self) -> None:
        """Pickle the settings of the stages, and start the streaming query.

        Raises:
            CompileError: The settings of a stage cannot be pickled; or the executors do not share a
                folder for Spark's checkpoint.
        """
        self._stages = QueryStages(self._settings, self._import_path)
        local = is_local(self._session)
        address: Address = (
            self._session.sparkContext.getConf().get("spark.driver.host") or "127.0.0.1",
            0,
        )
        if local:
            address, _ = local_addresses(self._opened.enter_context(scratch_directory()))
        server = self._server = CallServer(address, secrets.token_bytes(32), self._stages.loads)
        self._opened.callback(server.close)
        stages = [
            GroupStage(server.address, number, each.stage, self._counts, self._errors)
            for number, each in enumerate(self._stages.loads)
        ]
        self._group_query = GroupQuery(
            self._session,
            f"{self._settings.app.app_id}: {self._settings.name}",
            stages,
            self._checkpoint(local=local),
            local,
            self._micro_batch,
        )
        self._query = self._group_query.start()

    def _checkpoint(self, *, local: bool) -> str:
        if local:
            return str(self._opened.enter_context(scratch_directory()) / "query")
        shared = self._settings.app.checkpoint.directory
        if shared is None:
            named = self._session.conf.get(_LOCATION, None)
            if named is None:
                raise CompileError(
                    f"the checkpoint {self._settings.app.checkpoint} is in object storage, and "
                    "stage='group-state' needs a folder for Spark's own checkpoint",
                    hint=f"set {_LOCATION} to a location that all executors reach.",
                )
            return f"{named}/{uuid4().hex}"
        folder = Path(shared) / "queries" / self._settings.name / "group-state"
        shutil.rmtree(folder, ignore_errors=True)  # of a driver that was killed
        self._opened.callback(shutil.rmtree, folder, ignore_errors=True)
        return str(folder)

    # ------------------------------------------------------------ batches

    def run(self, attempt: BatchAttempt) -> Sequence[Content]:
        """Run all stages of a batch; see `Executor.run`.

        Spark itself retries failed tasks, so the error of a task is raised directly rather than as
        a `TaskFailedError`.
        """
        stages, server, group_query = self._stages, self._server, self._group_query
        if stages is None or server is None or group_query is None:
            raise RuntimeError("the executor is not open: call open() first")
        server.begin(attempt, stages.turns(attempt), self._calls(attempt.calls))
        try:
            if self._query is None or not self._query.isActive:
                self._query = group_query.start()
            self._requests.put(True)
            outcome = self._outcome(self._query)
        except (Py4JError, ConnectionError) as exc:
            raise typed(exc) from exc
        if not isinstance(outcome, BaseException):
            return outcome
        if self._is_canceled:
            raise BatchCanceledError from outcome
        error = self._errors.find(outcome)
        if error is not None:
            raise error
        lost = server.lost(_LOST_S)
        if lost:
            (stage, task), deaths = min(lost.items())
            slots = self._slots(lost, attempt.calls)
            known = task if len(lost) == 1 else None
            raise WorkerLostError(stage, slots, known, deaths=deaths) from outcome
        raise typed(outcome)

    def _outcome(self, query: StreamingQuery) -> list[Content] | BaseException:
        while True:
            with suppress(queue.Empty):
                return self._outcomes.get(timeout=_POLL_S)
            if not query.isActive:
                with suppress(queue.Empty):
                    return self._outcomes.get(timeout=_POLL_S)
                with suppress(queue.Empty):
                    self._requests.get_nowait()
                return query.exception() or BatchCanceledError()

    def _micro_batch(self, results: DataFrame, _: int) -> None:
        """Wait for a batch, and run it: the function of `foreachBatch`, which Spark calls."""
        if not self._requests.get():
            return
        try:
            rows = results.collect()
        except BaseException as exc:
            self._outcomes.put(exc)
            raise
        self._outcomes.put([Envelope.unpack(bytes(row["payload"])).content for row in rows])

    def _calls(self, parts: Parts) -> list[dict[int, list[bytes]]]:
        """Return the packed calls of a batch for each stage, by task."""
        calls: list[dict[int, list[bytes]]] = [{} for _ in self._counts]
        for payloads in parts.values():
            for _, payload in payloads:
                envelope = Envelope.unpack(payload)
                calls[envelope.stage].setdefault(envelope.task, []).append(payload)
        return calls

    def _slots(self, lost: Iterable[tuple[int, int]], calls: Parts) -> list[int]:
        """Return the slots of tasks whose process died, for `WorkerLostError`.

        Args:
            lost: The stage number and the task number of each task.
            calls: The packed calls of the batch, by slot.
        """
        first = {task for stage, task in lost if not stage}
        found = {task % self._settings.width for stage, task in lost if stage}
        for slot, payloads in calls.items():
            tasks = {Envelope.unpack(payload).task for _, payload in payloads}
            if tasks & first:
                found.add(slot)
        return sorted(found)

    # ------------------------------------------------------------ ending

    def idle(self) -> None:
        """Check once a second that the JVM still runs; nothing is released between batches."""
        if self._query is None or time.monotonic() - self._checked_at < _CHECK_S:
            return
        self._checked_at = time.monotonic()
        try:
            self._query.isActive  # noqa: B018  # asks the JVM
        except (Py4JError, ConnectionError) as exc:
            raise typed(exc) from exc

    def cancel(self) -> None:
        """Cancel the current batch, if there is one."""
        self._is_canceled = True
        self._stop()

    def close(self) -> None:
        """End the streaming query, and remove its checkpoint."""
        self._stop()
        self._opened.close()

    def _stop(self) -> None:
        self._requests.put(False)
        if self._query is not None:
            with suppress(Py4JError, ConnectionError):
                self._query.stop()
