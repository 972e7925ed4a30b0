"""Patches of the library for crash tests, where no part of an app can be exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kstreams.batch.io.embedded import feed as embedded_feed
from kstreams.batch.io.embedded.topic_io import publish
from kstreams.batch.planning.batch_size import RecordSizes
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.sweep_thread import SweepThread
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.state.log import packs
from kstreams.state.versions import background
from kstreams.state.versions.local import LocalVersions

if TYPE_CHECKING:
    from tests.support.crash.harness import Harness

__all__ = ("patch_library",)


def patch_library(harness: Harness, patch: pytest.MonkeyPatch) -> None:
    """Add faults where no part of an app can be exchanged, and clean up between two batches."""
    patch.setattr(SweepThread, "begin", lambda _, sweep: sweep())
    if harness.point.own_objects:
        patch.setattr(packs, "PART_BYTES", 0)
        patch.setattr(background, "HELD_BYTES", 0)
    reach, real_publish = harness.faults.reach, LocalVersions.publish
    real_publish_base = LocalVersions.publish_base

    def named(versions: LocalVersions, *arguments: Any) -> None:
        real_publish(versions, *arguments)
        reach("version named")

    def based(versions: LocalVersions, *arguments: Any) -> None:
        real_publish_base(versions, *arguments)
        reach("version named")
        reach("base named")

    def published(log: Any, outputs: Any, batch: int) -> None:
        for output in outputs:
            publish(log, [output], batch)
            reach("published one")

    def replaced(plans: PlanLog, number: int, plan: Plan) -> Plan:
        reach("before replace plan")
        recorded = replace_plan(plans, number, plan)
        reach("after replace plan")
        return recorded

    replace_plan = PlanLog.replace
    patch.setattr(PlanLog, "replace", replaced)
    next_plan = BatchPlanner.next

    def too_large(planner: BatchPlanner, **options: Any) -> Plan | None:
        planner.portions.sizes = RecordSizes(lambda *_: 1.0)
        return next_plan(planner, **options)

    # otherwise the limit follows from the bytes read, and no task refuses
    if harness.point.max_bytes < 1 << 20:
        patch.setattr(BatchPlanner, "next", too_large)
    patch.setattr(LocalVersions, "publish", named)
    patch.setattr(LocalVersions, "publish_base", based)
    patch.setattr(embedded_feed, "publish", published)
