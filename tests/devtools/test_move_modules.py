"""Rewriting references to moved modules."""

from __future__ import annotations

import pytest

from devtools.move_modules import main, rewritten

MOVES = {"kstreams.task.joint": "kstreams.task.two_input_join"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from kstreams.task.joint import Joint",
            "from kstreams.task.two_input_join import Joint",
        ),
        ("import kstreams.task.joint\n", "import kstreams.task.two_input_join\n"),
        (
            "from kstreams.task import joint\n",
            "from kstreams.task import two_input_join as joint\n",
        ),
        (
            "    from kstreams.task import (\n        columns,\n        joint,\n    )\n",
            """    from kstreams.task import columns
    from kstreams.task import two_input_join as joint
""",
        ),
        (
            "from kstreams.task import joint as module\n",
            "from kstreams.task import two_input_join as module\n",
        ),
        ('"kstreams.task.joint:Joint"', '"kstreams.task.two_input_join:Joint"'),
        ("see `task/joint.py`", "see `task/two_input_join.py`"),
        ("see `kstreams/task/joint.py`", "see `kstreams/task/two_input_join.py`"),
    ],
)
def test_rewrite_replaces_reference_to_moved_module(before: str, after: str) -> None:
    assert rewritten(before, MOVES) == after


def test_rewrite_replaces_path_of_test_moved_below_its_package() -> None:
    moves = {"tests.kstreams.batch.test_limits": "tests.kstreams.batch.planning.test_limits"}
    text = "see `batch/test_limits.py`, `kstreams/batch/test_limits.py`"
    assert rewritten(text, moves) == (
        "see `batch/planning/test_limits.py`, `kstreams/batch/planning/test_limits.py`"
    )


def test_rewrite_replaces_module_moved_into_a_package_of_its_name_only_once() -> None:
    moves = {
        "kstreams.plans": "kstreams.plans.plans",
        "kstreams.plan_log": "kstreams.plans.plan_log",
    }
    text = "import kstreams.plans\nimport kstreams.plan_log\nsee `plans.py`\n"
    assert rewritten(text, moves) == (
        "import kstreams.plans.plans\nimport kstreams.plans.plan_log\nsee `plans/plans.py`\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "from kstreams.task.joints import Joint",
        "from my.kstreams.task.joint import Joint",
        "see `other/task/joint.py`",
        "a joint of two inputs",
    ],
)
def test_rewritten_text_keeps_names_that_are_not_moved(text: str) -> None:
    assert rewritten(text, MOVES) == text


def test_move_of_missing_module_exits_with_its_path() -> None:
    with pytest.raises(SystemExit, match=r"there is no kstreams/no_such\.py"):
        main(["kstreams.no_such=kstreams.other"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from kstreams.serve.api import Api\n", "from kstreams_serve.api import Api\n"),
        ("from kstreams import serve\n", "import kstreams_serve as serve\n"),
        (
            "from tests.kstreams.serve.apps import App\n",
            "from tests.packages.kstreams_serve.apps import App\n",
        ),
        ('"kstreams/serve/**" = ["S"]', '"packages/kstreams_serve/**" = ["S"]'),
        (
            "see `tests/kstreams/serve/test_api.py`",
            "see `tests/packages/kstreams_serve/test_api.py`",
        ),
        (
            "see kstreams/server.py, other/kstreams/serve",
            "see kstreams/server.py, other/kstreams/serve",
        ),
    ],
)
def test_rewrite_replaces_reference_to_package_that_moved_out(before: str, after: str) -> None:
    moves = {
        "kstreams.serve": "kstreams_serve",
        "tests.kstreams.serve": "tests.packages.kstreams_serve",
    }
    folders = {
        "kstreams/serve": "packages/kstreams_serve",
        "tests/kstreams/serve": "tests/packages/kstreams_serve",
    }
    assert rewritten(before, moves, folders) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from kstreams.batch.kafka.io import IO\n", "from kstreams.batch.io.kafka.io import IO\n"),
        ("see `batch/kafka/io.py`", "see `batch/io/kafka/io.py`"),
        ("see `kstreams/batch/kafka/io.py`", "see `kstreams/batch/io/kafka/io.py`"),
        ("tests/kstreams/batch/kafka/test_io.py", "tests/kstreams/batch/io/kafka/test_io.py"),
        ("see `kstreams/kafka/reader.py`", "see `kstreams/kafka/reader.py`"),
    ],
)
def test_rewrite_replaces_reference_to_moved_sub_package(before: str, after: str) -> None:
    moves = {"kstreams.batch.kafka": "kstreams.batch.io.kafka"}
    folders = {
        "batch/kafka": "batch/io/kafka",
        "kstreams/batch/kafka": "kstreams/batch/io/kafka",
        "tests/kstreams/batch/kafka": "tests/kstreams/batch/io/kafka",
    }
    assert rewritten(before, moves, folders) == after
