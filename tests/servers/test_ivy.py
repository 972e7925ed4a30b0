"""Ivy downloads jars, or the error names the missing one."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devtools.servers.ivy import Artifact, JarResolutionError, _proxy_properties, resolve
from devtools.servers.local_repository import LocalRepository
from kstreams.files import cache_folder

LEAF = Artifact("org.leaf", "leaf", "1.0")
TREE = Artifact("org.tree", "tree_2.13", "2.0")
ABSENT = Artifact("org.absent", "absent", "3.0")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRepository:
    local = LocalRepository(tmp_path / "repository")
    local.add(LEAF)
    local.add(TREE, needs=[LEAF])
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KSTREAMS_IVY_SETTINGS", str(local.settings))
    return local


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("transitive", "expected"),
    [
        pytest.param(False, ["tree_2.13-2.0.jar"], id="alone"),
        pytest.param(True, ["leaf-1.0.jar", "tree_2.13-2.0.jar"], id="transitive"),
    ],
)
def test_ivy_resolve_downloads_jars(tmp_path: Path, transitive: bool, expected: list[str]) -> None:
    jars = resolve([TREE], tmp_path / "deep" / "jars", transitive=transitive)
    assert expected == [jar.name for jar in jars]
    assert all(jar.is_file() for jar in jars)


@pytest.mark.usefixtures("repository")
def test_existing_folder_of_jars_is_returned_without_ivy(tmp_path: Path) -> None:
    first = resolve([LEAF], tmp_path / "jars", transitive=False)
    assert first == resolve([ABSENT], tmp_path / "jars", transitive=False)


@pytest.mark.usefixtures("repository")
def test_concurrent_callers_all_get_the_jars_and_leave_no_other_files(tmp_path: Path) -> None:
    into = tmp_path / "jars" / "tree"
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(resolve, [TREE], into, transitive=True) for _ in range(4)]
        assert len({answer.result() for answer in answers}) == 1
    assert [into] == list(into.parent.iterdir())


@pytest.mark.usefixtures("repository")
def test_error_of_missing_artifact_names_it_and_leaves_no_folder(tmp_path: Path) -> None:
    into = tmp_path / "jars" / "half"
    with pytest.raises(
        JarResolutionError, match=r"cannot download org\.absent:absent:3\.0"
    ) as caught:
        resolve([LEAF, ABSENT], into, transitive=False)
    assert caught.value.missing == (ABSENT,)
    assert caught.value.artifacts == (LEAF, ABSENT)
    assert "not found" in str(caught.value)
    assert list(into.parent.iterdir()) == []


def test_unreachable_repository_does_not_count_as_a_missing_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="it"/><resolvers>'
        '<ibiblio name="it" m2compatible="true" root="http://127.0.0.1:9/"/>'
        "</resolvers></ivysettings>"
    )
    monkeypatch.setenv("KSTREAMS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KSTREAMS_IVY_SETTINGS", str(settings))
    with pytest.raises(JarResolutionError, match="Connection refused") as caught:
        resolve([LEAF], tmp_path / "jars", transitive=False)
    assert caught.value.missing == ()


def test_jar_resolution_error_survives_pickling() -> None:
    error = JarResolutionError(
        "no", artifacts=(LEAF, TREE), missing=(TREE,), output="said", hint="do"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(error), error.missing, error.output) == (str(again), again.missing, again.output)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"KSTREAMS_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a", id="own"),
        pytest.param({"XDG_CACHE_HOME": "/b"}, "/b/kstreams", id="xdg"),
        pytest.param({"HOME": "/home/me"}, "/home/me/.cache/kstreams", id="home"),
    ],
)
def test_ivy_cache_folder_is_set_by_environment_variable(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    for name in ("KSTREAMS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Path(expected) == cache_folder()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, [], id="none"),
        pytest.param(
            {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "localhost, .corp"},
            [
                "-Dhttps.proxyHost=proxy",
                "-Dhttps.proxyPort=3128",
                "-Dhttp.nonProxyHosts=localhost|*.corp",
            ],
            id="https and exceptions",
        ),
        pytest.param(
            {"http_proxy": "proxy:8080"},
            ["-Dhttp.proxyHost=proxy", "-Dhttp.proxyPort=8080"],
            id="without a scheme",
        ),
    ],
)
def test_proxy_variables_become_java_properties(
    environment: dict[str, str], expected: list[str]
) -> None:
    assert expected == list(_proxy_properties(environment))
