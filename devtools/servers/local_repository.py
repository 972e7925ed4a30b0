"""A folder with the layout of a Maven repository, and Ivy settings that use only this folder."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from devtools.servers.ivy import Artifact

_SETTINGS = """\
<ivysettings><settings defaultResolver="here"/><resolvers>
<filesystem name="here" m2compatible="true">
<ivy pattern="{root}/[organisation]/[module]/[revision]/[module]-[revision].pom"/>
<artifact pattern="{root}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
</filesystem></resolvers></ivysettings>
"""
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>{0.organisation}</groupId><artifactId>{0.name}</artifactId><version>{0.version}</version>
<dependencies>{1}</dependencies></project>
"""
_NEED = (
    "<dependency><groupId>{0.organisation}</groupId><artifactId>{0.name}</artifactId>"
    "<version>{0.version}</version></dependency>"
)


class LocalRepository:
    """Artifacts of one empty jar each, below `root`; `settings` makes Ivy use only this folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir()
        self.settings = root / "ivysettings.xml"
        self.settings.write_text(_SETTINGS.format(root=root))

    def add(self, artifact: Artifact, *, needs: Sequence[Artifact] = ()) -> Artifact:
        """Add an artifact to the repository; returns the artifact."""
        place = self._root.joinpath(
            *artifact.organisation.split("."), artifact.name, artifact.version
        )
        place.mkdir(parents=True)
        file = place / f"{artifact.name}-{artifact.version}"
        file.with_name(f"{file.name}.pom").write_text(
            _POM.format(artifact, "".join(_NEED.format(need) for need in needs))
        )
        with zipfile.ZipFile(file.with_name(f"{file.name}.jar"), "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        return artifact
