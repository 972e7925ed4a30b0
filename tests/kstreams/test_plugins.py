"""Plugins are found by entry points, and imported one by one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints, PackageNotFoundError
from typing import Any, NoReturn

import pytest

from kstreams import KStreamsError, plugins
from kstreams.errors import PluginError
from kstreams.plugins import load_plugin, missing_extra, plugin_names

Offer = Callable[..., None]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the installed packages provide certain serdes, given as name=value pairs."""

    def install(*offers: tuple[str, str]) -> None:
        points = [EntryPoint(name, value, "kstreams.serdes") for name, value in offers]
        monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints(points))
        plugins._found.cache_clear()

    yield install
    plugins._found.cache_clear()


def _not_installed(name: str) -> NoReturn:
    raise PackageNotFoundError(name)


def test_plugins_of_this_repository_are_found() -> None:
    assert {"memory", "rocksdb"} <= set(plugin_names("kstreams.stores"))
    assert "json" in plugin_names("kstreams.serdes")


def test_plugin_names_are_sorted(offer: Offer) -> None:
    offer(("text", "kstreams.serde:TEXT"), ("int64", "kstreams.serde:INT64"))
    assert plugin_names("kstreams.serdes") == ("int64", "text")


def test_listing_plugins_imports_nothing(offer: Offer) -> None:
    offer(("broken", "no_such_module:THING"))
    assert plugin_names("kstreams.serdes") == ("broken",)


def test_listing_plugins_imports_no_plugin_of_this_repository() -> None:
    code = (
        "import sys; from kstreams.plugins import plugin_names;"
        "plugin_names('kstreams.stores'), plugin_names('kstreams.serdes');"
        "print([m for m in sys.modules if m.startswith(('kstreams_', 'rocksdict', 'msgspec'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_loading_plugin_imports_only_that_plugin(offer: Offer) -> None:
    from kstreams import TEXT

    offer(("broken", "no_such_module:THING"), ("text", "kstreams.serde:TEXT"))
    assert load_plugin("kstreams.serdes", "text") is TEXT


def test_installed_packages_are_scanned_once(offer: Offer) -> None:
    offer(("text", "kstreams.serde:TEXT"))
    assert plugins._found("kstreams.serdes") is plugins._found("kstreams.serdes")


def test_unknown_plugin_name_suggests_similar_one(offer: Offer) -> None:
    offer(("json", "a:b"), ("text", "a:c"))
    with pytest.raises(PluginError) as caught:
        load_plugin("kstreams.serdes", "jsn")
    assert str(caught.value) == (
        "there is no plugin 'jsn' in kstreams.serdes; installed plugins: json, text\n"
        "Hint: did you mean 'json'?"
    )
    assert isinstance(caught.value, (KStreamsError, LookupError))


def test_unknown_plugin_name_without_similar_one_has_hint(offer: Offer) -> None:
    offer()
    with pytest.raises(PluginError, match="installed plugins: none") as caught:
        load_plugin("kstreams.serdes", "protobuf")
    assert caught.value.hint == (
        "install the package that offers the plugin, or pass the object instead of its name."
    )


@pytest.mark.parametrize(
    ("name", "extra"),
    [("rocksdb", "rocksdb"), ("redis-stream", "redis"), ("orders", ""), ("spark", "")],
)
def test_missing_extra_of_plugin_is_found_only_if_its_package_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    assert missing_extra(name) == ""

    monkeypatch.setattr(plugins, "distribution", _not_installed)

    assert missing_extra(name) == extra


def test_unknown_plugin_of_an_extra_that_is_not_installed_names_the_extra(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(("avro-json", "a:b"))
    monkeypatch.setattr(plugins, "distribution", _not_installed)

    with pytest.raises(PluginError, match="there is no plugin 'avro'") as caught:
        load_plugin("kstreams.serdes", "avro")

    assert caught.value.hint == "pip install 'kstreams-spark[avro]'."


def test_plugin_name_with_two_providers_raises(offer: Offer) -> None:
    offer(("json", "theirs:serde"), ("json", "ours:serde"), ("text", "kstreams.serde:TEXT"))
    assert plugin_names("kstreams.serdes") == ("json", "text")
    with pytest.raises(PluginError, match=r"several packages offer 'json'.*: ours:serde, theirs"):
        load_plugin("kstreams.serdes", "json")
    load_plugin("kstreams.serdes", "text")


def test_repeated_entry_point_counts_as_one_provider(offer: Offer) -> None:
    offer(("text", "kstreams.serde:TEXT"), ("text", "kstreams.serde:TEXT"))
    load_plugin("kstreams.serdes", "text")


def test_entry_point_with_missing_target_raises(offer: Offer) -> None:
    offer(("text", "kstreams.serde:NO_SUCH"))
    with pytest.raises(PluginError, match=r"'text' in .* names kstreams.serde:NO_SUCH"):
        load_plugin("kstreams.serdes", "text")


def test_plugin_with_missing_package_raises_import_error(offer: Offer) -> None:
    offer(("broken", "no_such_module:THING"))
    with pytest.raises(ImportError, match="no_such_module"):
        load_plugin("kstreams.serdes", "broken")
