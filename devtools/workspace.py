"""The packages of the workspace: each folder with a `pyproject.toml`, such as `stores/kstreams_s3`.

This file is also the metadata hook in the build of `kstreams-spark`, which adds an extra for each
package: `kstreams-spark[s3]` needs `kstreams-s3` of the same version. Extras of a package become
extras of `kstreams-spark`, too: `grpc` of `kstreams-serve`.

- `python -m devtools.workspace requirements`: the requirements that the lock must contain.
- `python -m devtools.workspace requirements s3 kafka`: only those of `kstreams-spark[s3,kafka]`.
- `python -m devtools.workspace version 0.2.0`: set the version of all packages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.metadata.plugin.interface import MetadataHookInterface

if sys.version_info >= (3, 11):
    import tomllib
else:  # as hatchling does
    import tomli as tomllib

__all__ = (
    "ROOT",
    "Package",
    "PluginExtras",
    "all_extras",
    "compiled",
    "core",
    "packages",
    "requirements_of",
    "set_version",
)

ROOT = Path(__file__).parents[1]
_CORE = "kstreams-spark"


class Package(NamedTuple):
    """A package of the workspace.

    Attributes:
        folder: The folder of its `pyproject.toml`; that of its modules, except for the core.
        project: The table `project` of its `pyproject.toml`.
    """

    folder: Path
    project: Mapping[str, Any]

    @property
    def distribution(self) -> str:
        """The name for pip, such as `kstreams-s3`."""
        return str(self.project["name"])

    @property
    def extra(self) -> str:
        """The name of its extra, such as `s3`."""
        return self.distribution.removeprefix("kstreams-")

    @property
    def dependencies(self) -> list[str]:
        """The requirements without extras."""
        return list(self.project.get("dependencies", ()))

    @property
    def extras(self) -> dict[str, list[str]]:
        """The requirements of each extra."""
        return dict(self.project.get("optional-dependencies", {}))

    @property
    def requirements(self) -> list[str]:
        """All requirements, with those of extras."""
        return [*self.dependencies, *(each for extra in self.extras.values() for each in extra)]


def packages(root: Path = ROOT) -> list[Package]:
    """Return the packages of the workspace except the core, sorted by folder."""
    return [
        Package(file.parent, _toml(file)["project"])
        for file in sorted(root.glob("*/kstreams_*/pyproject.toml"))
    ]


def core(root: Path = ROOT) -> Package:
    """Return `kstreams-spark`, with its own extras only."""
    found = _toml(root / "pyproject.toml")
    hook = found["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    return Package(root, {**found["project"], "optional-dependencies": hook["extras"]})


def compiled(root: Path = ROOT) -> Package:
    """Return `kstreams-kafka-native`, the package with compiled code."""
    return Package(root / "native", _toml(root / "native" / "pyproject.toml")["project"])


def all_extras(
    core: Package, packages: Iterable[Package], not_in_all: Iterable[str]
) -> dict[str, list[str]]:
    """Return the extras of `kstreams-spark`: its own, those of the packages, and `all`.

    Args:
        core: The core, with its own extras.
        packages: The other packages of the workspace.
        not_in_all: The extras that `all` does not contain.
    """
    version = core.project["version"]
    extras = core.extras
    plain = set(map(_name, core.dependencies))
    for package in packages:
        if package.distribution not in plain:
            extras.setdefault(package.extra, []).append(f"{package.distribution}=={version}")
        for extra in package.extras:
            required = f"{package.distribution}[{extra}]=={version}"
            extras.setdefault(extra, []).append(required)
    found = {name: extras[name] for name in sorted(extras)}
    chosen = ",".join(name for name in found if name not in set(not_in_all))
    return {**found, "all": [f"{_CORE}[{chosen}]"]}


class PluginExtras(MetadataHookInterface):
    """Adds the extras to the metadata of `kstreams-spark` when hatchling builds it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `optional-dependencies`."""
        root = Path(self.root)
        core = Package(root, {**metadata, "optional-dependencies": self.config["extras"]})
        extras = all_extras(core, packages(root), self.config["not-in-all"])
        metadata["optional-dependencies"] = extras


def _locked(root: Path) -> Iterator[str]:
    """Yield the requirements of all packages, except those on each other."""
    found = _toml(root / "pyproject.toml")["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    ours = {each.distribution for each in (core(root), compiled(root), *packages(root))}
    own = core(root)
    extras = [own.extras[name] for name in own.extras if name not in found["not-in-all"]]
    required = [*own.dependencies, *(each for extra in extras for each in extra)]
    for package in packages(root):
        required += package.requirements
    yield from sorted({each for each in required if _name(each) not in ours})


def requirements_of(root: Path, extras: Iterable[str]) -> list[str]:
    """Return the requirements of `kstreams-spark` with extras, except those on own packages.

    Raises:
        SystemExit: There is no such extra.
    """
    known = {each.distribution: each for each in (core(root), compiled(root), *packages(root))}
    available = all_extras(core(root), packages(root), ())
    if unknown := sorted({*extras} - {*available}):
        sys.exit(f"workspace: kstreams-spark has no extra {', '.join(unknown)}")
    pending = [*core(root).dependencies, *(each for extra in extras for each in available[extra])]
    seen: set[str] = set()
    while pending:
        requirement = pending.pop()
        package = known.get(_name(requirement))
        if requirement in seen:
            continue
        seen.add(requirement)
        if package is not None and package.distribution != _CORE:
            pending += package.dependencies
            for extra in re.findall(r"^[\w.-]+\[(.*?)\]", requirement):
                pending += package.extras[extra]
    return sorted(each for each in seen if _name(each) not in known)


def set_version(root: Path, version: str) -> None:
    """Write a version into all files, and into the requirements of packages on each other.

    Raises:
        SystemExit: The version is none of a release: three numbers, or a pre-release of them.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"workspace: {version!r} is no version such as 1.2.3 or 1.2.3rc1")
    for package in (core(root), compiled(root), *packages(root)):
        file = package.folder / "pyproject.toml"
        text = re.sub(r'(?m)^version = ".*"$', f'version = "{version}"', file.read_text())
        file.write_text(re.sub(r'("kstreams-[^"=]*==)[^";]*', rf"\g<1>{version}", text))
    recipe = root / "packaging" / "conda" / "recipe.yaml"
    text = re.sub(r'(?m)^  version: ".*"$', f'  version: "{version}"', recipe.read_text())
    recipe.write_text(text)


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _main(arguments: list[str]) -> None:
    match arguments:
        case ["requirements"]:
            sys.stdout.writelines(f"{line}\n" for line in _locked(ROOT))
        case ["requirements", *extras]:
            sys.stdout.writelines(f"{line}\n" for line in requirements_of(ROOT, extras))
        case ["version", version]:
            set_version(ROOT, version)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    _main(sys.argv[1:])
