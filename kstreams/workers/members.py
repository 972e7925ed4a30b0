"""The workers that are connected to a driver.

A run is one attempt at a batch.
"""

from __future__ import annotations

import logging
import pickle
import secrets
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

from kstreams.errors import ExecutionError, KStreamsError
from kstreams.execution.executor import BatchCanceledError
from kstreams.workers.channel import Address, Channel, Listener
from kstreams.workers.launcher import DriverEndpoint, Launcher
from kstreams.workers.messages import CancelRun, ForgetStages, Leave, Welcome, WorkerReport
from kstreams.workers.runs import Member

__all__ = ("Members",)

_LOG = logging.getLogger(__name__)
_POLL_S = 0.02
_START_S = 120.0
"""The maximum time until the first worker connects."""
_END_S = 5.0
"""The maximum time for workers to end by themselves."""


class Members:
    """Accepts workers, gives them numbers, and starts workers that are missing.

    Args:
        launcher: Starts the worker processes.
        size: The maximum number of workers.
        address: The address at which the driver listens: the path of a Unix socket, or a host and
            the port 0.
        worker_prefix: The path prefix for the sockets of workers; see `DriverEndpoint`.
        on_report: Called with each report of a worker, in the thread of its connection.
        on_end: Called once when the connection of a worker has ended.

    Raises:
        OSError: The address cannot be used.
    """

    def __init__(
        self,
        launcher: Launcher,
        size: int,
        *,
        address: Address,
        worker_prefix: str,
        on_report: Callable[[Member, WorkerReport], None],
        on_end: Callable[[Member], None],
    ) -> None:
        self.size = size
        self._launcher = launcher
        self._on_report = on_report
        self._on_end = on_end
        self._changed = threading.Condition()
        self._members: dict[int, Member] = {}
        self._leaving: list[Member] = []
        self._numbers: dict[str, int] = {}  # the last number of each process
        self._changed_at = time.monotonic()
        self._is_closed = False
        self._failure: KStreamsError | None = None
        secret = secrets.token_bytes(32)
        self._listener = Listener(address, secret, self._admit)
        self._endpoint = DriverEndpoint(self._listener.address, secret, worker_prefix)

    def start(self) -> None:
        """Start the workers, without waiting for their connections.

        Raises:
            KStreamsError: Workers cannot be started.
        """
        self._launcher.launch(self._endpoint)

    def grow(self, size: int) -> None:
        """Increase the maximum number of workers; the next batch starts them.

        A `size` that is not larger than the current one has no effect.
        """
        if size > self.size:
            self.size = size
            self._launcher.grow(size)

    @property
    def is_empty(self) -> bool:
        """Whether no worker is connected."""
        return not self._members

    @property
    def endpoint(self) -> DriverEndpoint:
        """The data that a new worker needs to connect."""
        return self._endpoint

    # ------------------------------------------------------------ runs

    def free(self, width: int) -> dict[int, Member]:
        """Wait for free workers, and return the free workers by number.

        A worker is free unless it still runs code of a canceled run. Missing workers are started.

        Args:
            width: The wanted number of workers. The method does not wait for slow workers, whose
                run was canceled because of them. It returns fewer workers, but at least one,
                `Launcher.patience_s` after the last worker connected or ended.

        Raises:
            BatchCanceledError: `begin_close` or `close` was called.
            KStreamsError: No worker can be started, or none has connected in time.
        """
        wanted = min(width, self.size)
        began = time.monotonic()
        with self._changed:
            while True:
                if self._is_closed:
                    raise BatchCanceledError
                self.check()
                free = self.available()
                slow = sum(each.is_slow for each in self._members.values())
                if free and len(free) >= wanted - slow:
                    return free
                self._launcher.launch(self._endpoint)
                now = time.monotonic()
                if free and now - self._changed_at > self._launcher.patience_s:
                    return free
                if now - began > _START_S:
                    raise ExecutionError(
                        f"no worker process has connected to the driver within {_START_S:.0f} s, "
                        f"and {len(self._members)} worker processes run code of canceled batches",
                        hint="see the output of the worker processes, and the free cores.",
                    )
                self._changed.wait(_POLL_S)

    def available(self) -> dict[int, Member]:
        """Return the workers that are not still busy with a canceled run, by number."""
        with self._changed:
            return {n: each for n, each in self._members.items() if not each.canceled_run}

    def check(self) -> None:
        """Raise the error of `fail`, if it was called."""
        if self._failure is not None:
            raise self._failure

    def cancel(
        self, run: int, members: Collection[Member], left: Collection[int], slow: Collection[int]
    ) -> None:
        """Cancel a run.

        A worker that has not finished its part of the run is not free until it has; see `free`.

        Args:
            run: The id of the run.
            members: The workers of the run.
            left: The numbers of the workers that have not finished the run.
            slow: The numbers of slow workers. Their code is not interrupted, because the next run
                of the batch does not use them.
        """
        with self._changed:
            self._changed_at = time.monotonic()
            for member in members:
                if member.number in left:
                    member.canceled_run, member.is_slow = run, member.number in slow
        for member in members:
            with suppress(OSError):
                member.send(CancelRun(run, interrupt=member.number not in slow))

    def forget_stages(self, keys: tuple[str, ...]) -> None:
        """Make all workers release the settings of the stages with these keys."""
        with self._changed:
            members = list(self._members.values())
        for member in members:
            member.loaded.difference_update(keys)
            with suppress(OSError):
                member.send(ForgetStages(keys))

    # ------------------------------------------------------------ connections

    def _admit(self, channel: Channel) -> None:
        """Accept a worker, and receive its reports, in the thread of its connection."""
        member: Member | None = None
        try:
            hello = WorkerReport.unpack(channel.receive())
            member = self._welcome(channel, hello)
            while member is not None:
                report = WorkerReport.unpack(channel.receive())
                if report.kind == "canceled":
                    self._ended(member, report.fields["run"])
                else:
                    self._on_report(member, report)
        except (OSError, EOFError):
            pass
        except (KStreamsError, KeyError, TypeError, ValueError):
            _LOG.exception("a worker has sent an unreadable message; its connection is closed")
        finally:
            if member is not None:
                self.remove(member)
            channel.close()

    def _welcome(self, channel: Channel, hello: WorkerReport) -> Member | None:
        """Assign a number to a worker that has connected.

        The result is None, and the worker must end, if all numbers are assigned, if it was started
        before the last `release`, or if the pool is closed.
        """
        fields = hello.fields
        process, wanted = str(fields["process"]), int(fields["wanted"])
        address = fields["address"]
        with self._changed:
            free = [number for number in range(self.size) if number not in self._members]
            is_old = int(fields["releases"]) != self._endpoint.releases
            if self._is_closed or is_old or not free:
                channel.send(pickle.dumps(Leave()))
                return None
            best = [self._numbers.get(process), wanted, free[0]]
            number = next(each for each in best if each in free)
            self._numbers[process] = number
            place = address if isinstance(address, str) else (str(address[0]), int(address[1]))
            member = Member(number, process, place, channel)
            member.send(Welcome(number))
            self._members[number] = member
            self._changed_at = time.monotonic()
            self._changed.notify_all()
            return member

    def _ended(self, member: Member, run: int) -> None:
        """Record that a worker has ended a canceled run, so that `free` returns the worker again.

        The call has no effect if a later run of the worker was canceled since.
        """
        with self._changed:
            if member.canceled_run == run:
                member.canceled_run, member.is_slow = 0, False
                self._changed.notify_all()

    def remove(self, member: Member) -> None:
        """Remove a worker whose process has ended."""
        member.channel.close()
        with self._changed:
            if self._members.get(member.number) is member:
                del self._members[member.number]
                self._changed_at = time.monotonic()
            if member in self._leaving:
                self._leaving.remove(member)
            self._changed.notify_all()
        self._on_end(member)

    # ------------------------------------------------------------ the end

    def release(self) -> None:
        """Make all workers end after their current runs; the next `free` starts new workers.

        Workers that are still starting are ended when they connect.
        """
        with self._changed:
            releases = self._endpoint.releases + 1
            self._endpoint = replace(self._endpoint, releases=releases)
            members = list(self._members.values())
            self._leaving += members
            self._members.clear()
        for member in members:
            with suppress(OSError):
                member.send(Leave())

    def fail(self, error: KStreamsError) -> None:
        """Make all later calls of `free` and `check` raise an error.

        Args:
            error: The reason why no workers can be started any more.
        """
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def begin_close(self) -> None:
        """Reject further workers and runs; `close` must still be called."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def close(self) -> None:
        """End all workers, wait for them for a limited time, and stop the launcher."""
        self.begin_close()
        self.release()
        end = time.monotonic() + _END_S
        with self._changed:
            while self._leaving and time.monotonic() < end:
                self._changed.wait(_POLL_S)
            members = list(self._leaving)
        for member in members:
            member.channel.close()
        self._listener.close()
        self._launcher.stop()
