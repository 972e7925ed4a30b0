"""The Dockerfile installs locked packages, and makes an image with few rights."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from devtools.workspace import ROOT, requirements_of
from tests.support.deploy.manifests import only

FOLDER = ROOT / "deploy"
DOCKERFILE = FOLDER / "Dockerfile"
LOCK = ROOT / "requirements" / "image.txt"


def instructions(kind: str) -> list[str]:
    """Return the arguments of each instruction of a kind in the Dockerfile."""
    text = DOCKERFILE.read_text().replace("\\\n", "")
    return [line[len(kind) + 1 :] for line in text.splitlines() if line.startswith(f"{kind} ")]


def final(kind: str) -> list[str]:
    """Return the instructions of a kind in the last stage."""
    last = DOCKERFILE.read_text().rindex("\nFROM ")
    return [each for each in instructions(kind) if each[:20] in DOCKERFILE.read_text()[last:]]


def locked(file: Path) -> dict[str, set[str]]:
    """Return the locked versions of each package; several if they depend on the Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", file.read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def installed_extras() -> list[str]:
    """Return the extras of `kstreams-spark` in the image."""
    (names,) = re.findall(r"kstreams-spark\[(.*?)\]", " ".join(instructions("RUN")))
    return str(names).split(",")


def test_dockerfile_passes_the_linter() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run(
        [hadolint, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_base_images_have_an_exact_version_and_are_the_same() -> None:
    bases = {each.split()[0] for each in instructions("FROM")}
    (base,) = bases
    assert re.fullmatch(r"debian:\d+\.\d+-slim(@sha256:[0-9a-f]{64})?", base)
    assert len(instructions("FROM")) == 2


def test_image_does_not_run_as_root() -> None:
    assert final("USER") == ["185:185"]
    driver = only("Deployment")["spec"]["template"]["spec"]
    assert driver["securityContext"]["runAsUser"] == 185


def test_image_starts_every_command_under_tini() -> None:
    assert instructions("ENTRYPOINT") == ['["/opt/entrypoint.sh"]']
    script = (FOLDER / "entrypoint.sh").read_text()
    assert re.findall(r"(?m)^\s*exec (\S+)", script) == ["tini"]
    assert "tini" in instructions("RUN")[-1].split()


def test_health_check_names_variables_of_the_program() -> None:
    (check,) = instructions("HEALTHCHECK")
    assert "kstreams health" in check
    set_in_image = set(re.findall(r"\b([A-Z_]+)=", " ".join(instructions("ENV"))))
    of_program = set(re.findall(r'environ\["(\w+)"\]', (FOLDER / "word_count.py").read_text()))
    assert set(re.findall(r"\$(\w+)", check)) == {"APP", *of_program}
    assert "APP" in set_in_image


def test_image_installs_only_packages_with_hashes_and_own_wheels() -> None:
    pip = re.findall(r"pip install (.*?)(?:&&|$)", " && ".join(instructions("RUN")))
    assert len(pip) == 2
    assert "--require-hashes" in pip[0]
    assert "--no-index" in pip[1]


def test_image_lock_has_the_requirements_of_the_installed_extras() -> None:
    required = requirements_of(ROOT, installed_extras())
    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in required}
    assert names <= set(locked(LOCK)), "run `make lock`"


def test_image_lock_has_the_versions_of_the_tested_lock() -> None:
    tested = locked(ROOT / "requirements" / "lock.txt")
    different = {name: found for name, found in locked(LOCK).items() if not found <= tested[name]}
    assert not different, "run `make lock`"


def test_image_has_the_program_of_the_manifests() -> None:
    copied = [line.split() for line in instructions("COPY") if not line.startswith("--")]
    sources = [source for source, *_ in copied if not source.startswith("dist/")]
    assert [each for each in sources if not (ROOT / each).is_file()] == []
    (container,) = only("Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] in [target for _, target in copied]


def test_build_context_has_the_files_that_the_dockerfile_copies() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    kept = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    copies = [line for line in instructions("COPY") if "--from=" not in line]
    sources = [word for line in copies for word in line.split()[:-1] if word[:2] != "--"]
    assert [s for s in sources if not any(Path(s).match(k) for k in kept)] == []


@pytest.mark.parametrize("script", ["entrypoint.sh", "decom.sh"])
def test_script_of_the_image_is_valid_and_executable(script: str) -> None:
    path = FOLDER / script
    assert path.stat().st_mode & 0o111
    done = subprocess.run(["sh", "-n", path], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def run_entrypoint(tmp_path: Path, *arguments: str, **variables: str) -> list[str]:
    """Return the command that the entry point runs under tini."""
    tini = tmp_path / "tini"
    tini.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    tini.chmod(0o755)
    given = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SPARK_HOME": "/s", "JAVA_HOME": "/j"}
    done = subprocess.run(
        ["sh", str(FOLDER / "entrypoint.sh"), *arguments],
        env={**given, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_entrypoint_starts_an_executor_with_all_java_options(tmp_path: Path) -> None:
    names = ["DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_IP"]
    names += ["RESOURCE_PROFILE_ID", "EXECUTOR_POD_NAME"]
    options = {f"SPARK_JAVA_OPT_{number}": f"-Da{number}=b c" for number in range(12)}
    settings = {f"SPARK_{name}": name.lower() for name in names}
    command = run_entrypoint(
        tmp_path, "executor", SPARK_EXECUTOR_MEMORY="1g", SPARK_CONF_DIR="/c", **options, **settings
    )
    assert command[:3] == ["-s", "--", "/j/bin/java"]
    assert command[3:15] == [f"-Da{number}=b c" for number in range(12)]
    assert command[15:19] == ["-Xms1g", "-Xmx1g", "-cp", "/c:/s/jars/*"]
    assert command[19].endswith(".k8s.KubernetesExecutorBackend")
    pairs = dict(zip(command[20::2], command[21::2], strict=True))
    assert pairs["--driver-url"] == "driver_url"
    assert len(pairs) == len(names)


def test_entrypoint_starts_a_driver_or_any_command(tmp_path: Path) -> None:
    submit = ["-s", "--", "/s/bin/spark-submit", "--deploy-mode", "client", "--conf", "a=b c"]
    assert run_entrypoint(tmp_path, "driver", "--conf", "a=b c") == submit
    assert run_entrypoint(tmp_path, "kstreams", "serve") == ["-s", "--", "kstreams", "serve"]
